import JSON
import Testing

/// A visitor of the example shop, who presses its buttons and reads what stands there.
struct ShopVisitor: Sendable {
    let tab: Tab
    let demo: ShopDemo

    /// A visitor of the shop.
    struct Device: Sendable, CustomTestStringConvertible {
        var tab = Tab.Device(language: "en", width: 1440, height: 1000)
        /// Whether the machine has a fingerprint reader of its own.
        var hasReader = true

        var testDescription: String {
            "\(tab.width) px, \(tab.isDark ? "dark" : "light"), \(hasReader ? "with" : "without") a reader"
        }
    }

    /// Gives the body a visitor of a shop of its own.
    static func visit(
        _ device: Device, probing options: [String]? = nil,
        _ body: @escaping @Sendable (ShopVisitor) async throws -> Void
    ) async throws {
        try await ShopDemo.open(probing: options) { demo in
            try await Chromium.open { chromium in
                try await body(try await ShopVisitor(chromium, demo, device))
            }
        }
    }

    private init(_ chromium: Chromium, _ demo: ShopDemo, _ device: Device = Device()) async throws {
        tab = try await Tab(chromium, device.tab)
        self.demo = demo
        if device.hasReader {
            try await tab.plug(in: .init())
        } else {
            try await tab.call("Emulation.setFocusEmulationEnabled") { $0.member("enabled", true) }
        }
        try await tab.open(demo.address)
        try await see("#set-up")
    }

    /// Waits until an element stands there that can be used.
    func see(_ selector: String) async throws {
        try await wait(
            for: """
                const element = document.querySelector("\(selector)");
                return element && !element.disabled && element.ariaDisabled !== "true" && element.checkVisibility();
                """, orSay: "never seen: \(selector)")
    }

    /// Waits until an element is gone. A dialog that a key closes gives the focus back at once and is taken away by an
    /// event that comes after it.
    func miss(_ selector: String) async throws {
        try await wait(
            for: #"return document.querySelector("\#(selector)") === null;"#, orSay: "still there: \(selector)")
    }

    /// Waits until the page is as the body of a JavaScript function says, and fails after a minute.
    private func wait(for body: String, orSay failure: String) async throws {
        _ = try await tab.value(
            """
            new Promise((done, fail) => {
              setTimeout(() => fail(new Error(`\(failure)`)), 60_000);
              const isSo = () => { \(body) };
              if (isSo()) return done(true);
              const observer = new MutationObserver(() => {
                if (isSo()) { observer.disconnect(); done(true); }
              });
              observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
            })
            """)
    }

    /// Presses a button as soon as it is there.
    func press(_ selector: String) async throws {
        try await see(selector)
        _ = try await tab.value("document.querySelector('\(selector)').click(), true")
    }

    /// Unfolds what a small screen folds away.
    func openFolds() async throws {
        _ = try await tab.value("document.querySelectorAll('details.fold').forEach(fold => fold.open = true), true")
    }

    func text(of selector: String) async throws -> String {
        try await see(selector)
        return try await tab.text(of: selector)
    }

    /// From the first screen to a browser that can pay; `look` is called on every screen.
    func enroll(_ look: (String) async throws -> Void = { _ in }) async throws {
        try await look("home")
        try await press("#set-up")
        try await see("#example")
        try await look("person")
        try await press("#example")
        try await press("#continue")
        try await see(".banks")
        try await look("bank")
        try await press("#bank-mockbank_br_retail, .banks li:last-child .row")
        try await see("#open-bank")
        try await look("redirect")
        try await approveAtBank()
        try await see("#register")
        try await look("finger")
        try await press("#register")
        try await see("#done")
        try await look("connected")
        try await press("#done")
    }

    /// To the bank's own page, and back by the merchant server's.
    func approveAtBank(_ decision: String = "approve") async throws {
        try await visitBank {
            try await press("#open-bank")
        } deciding: {
            _ = try await tab.value("document.querySelector('button[value=\(decision)]').click(), true")
        }
    }

    /// There and back by whatever means.
    func visitBank(opening: () async throws -> Void, deciding: () async throws -> Void) async throws {
        let left = tab.mark
        try await opening()
        try await tab.event("Page.frameNavigated", after: left) {
            $0["frame"]?["url"]?.string?.contains("/bank/authorize") == true
        }
        try await see("button[value=approve]")
        let back = tab.mark
        try await deciding()
        let address = demo.address
        try await tab.event("Page.frameNavigated", after: back) {
            $0["frame"]?["url"]?.string?.hasPrefix(address) == true
        }
        try await see("#screen > *")
    }

    /// Pays for two things with one touch.
    func buy(_ look: (String) async throws -> Void = { _ in }) async throws {
        try await press("#add-coffee")
        try await press("#add-mug")
        try await press("#to-cart")
        try await see("#pay")
        try await look("cart")
        try await press("#pay")
        try await see("#more")
    }

    /// The console's messages against the page. Messages that browsers write by themselves about an answer that is no
    /// success, or about a server that is away, is the demonstration's purpose.
    var complaints: [String] {
        let entries = tab.events("Log.entryAdded").filter { message in
            let text = message["entry"]?["text"]?.string ?? ""
            return !text.hasPrefix("Failed to load resource: ")
        }
        return (tab.events("Runtime.consoleAPICalled") + tab.events("Runtime.exceptionThrown") + entries)
            .map { String(decoding: $0.raw, as: UTF8.self) }
    }
}
