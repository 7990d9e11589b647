import BelvoSandbox
import JSON
import Testing

/// The callback page's texts and looks, in a real browser: in every state, every language, light and dark.
@Suite(.enabled(if: Chromium.path != nil, "\(Chromium.absence)"), .timeLimit(.minutes(3)))
struct LandingPageTests {
    @Test(arguments: Scene.languages)
    func `every state has its heading in the user's language, and names Belvo`(language: String) async throws {
        try await Self.visit([.init(language: language)]) { tab, scene, _ in
            let heading = try await tab.text(of: "h1")
            #expect(heading == scene.headings[language], "\(scene.name)")
            #expect(try await tab.text("document.documentElement.lang") == language)
            if !scene.needsScriptsOff { #expect(try await tab.text("document.title") == scene.headings[language]) }
            #expect(try await tab.text(of: "footer").contains("Belvo"))
            #expect(try await !tab.text(of: "[role=status] p").isEmpty, "\(scene.name)")
        }
    }

    @Test(arguments: Scene.languages)
    func `every text has a contrast of 4.5, and everything fits a phone of 320 px`(language: String) async throws {
        let devices = [false, true].map { Tab.Device(language: language, isDark: $0, width: 320, height: 568) }
        try await Self.visit(devices) { tab, scene, device in
            let report = try await tab.value(Self.looks)
            let place =
                "\(scene.name), \(device.isDark ? "dark" : "light"): \(String(decoding: report.raw, as: UTF8.self))"
            let contrasts = try #require(report["contrasts"]).elements.map { Double($0.numberText ?? "") ?? 0 }
            #expect(contrasts.count >= 4 && contrasts.allSatisfy { $0 >= 4.5 }, "\(place)")
            #expect(report["sign"]?.numberText.flatMap { Double($0) } ?? 0 >= 3, "\(place)")
            #expect(report["isDark"]?.bool == device.isDark, "\(place)")
            #expect(report["width"]?.int64 ?? 999 <= 320, "\(place)")
            #expect(report["target"]?.numberText.flatMap { Double($0) } ?? 0 >= 44, "\(place)")
            #expect(report["textSize"]?.numberText.flatMap { Double($0) } ?? 0 >= 13, "\(place)")
        }
    }

    @Test func `a screen reader finds the landmark, one heading, what changes, and the way to the app`() async throws {
        try await Self.visit([.init(language: "pt-BR")]) { tab, scene, _ in
            let nodes = try await tab.accessibilityTree().filter { $0["ignored"]?.bool != true }
            func named(_ role: String) -> [String?] {
                nodes.filter { $0["role"]?["value"]?.string == role }.map { $0["name"]?["value"]?.string }
            }
            #expect(named("main").count == 1 && named("contentinfo").count == 1, "\(scene.name)")
            #expect(named("heading") == [scene.headings["pt-BR"]], "\(scene.name)")
            let heading = nodes.first { $0["role"]?["value"]?.string == "heading" }
            #expect(Self.property("level", of: heading)?.int64 == 1)
            #expect(named("link") == ["Voltar ao aplicativo"], "\(scene.name)")
            let live = nodes.first { $0["role"]?["value"]?.string == "status" }
            #expect(Self.property("live", of: live)?.string == "polite", "\(scene.name)")
            #expect(named("image").isEmpty && named("img").isEmpty, "the sign only repeats the heading")
        }
    }

    @Test func `a page weighs under 15 kB, loads nothing else, keeps nothing, and the console is silent`() async throws
    {
        try await Self.visit(Scene.languages.map { Tab.Device(language: $0) }) { tab, scene, device in
            // A page that waits asks again; the others are one answer each, and open the app, which loads nothing.
            for request in tab.events("Network.requestWillBeSent") {
                let address = request["request"]?["url"]?.string ?? ""
                if address.hasPrefix("shop://pix?from=bank&") { continue }
                #expect(
                    address.hasPrefix("http://127.0.0.1:") || address.hasPrefix("data:"), "\(scene.name): \(address)")
            }
            let bytes = try await tab.value("performance.getEntriesByType('navigation')[0].transferSize").int64 ?? 0
            #expect((1_000..<15_000).contains(bytes), "\(scene.name), \(device.language): \(bytes)")
            let held = "document.cookie.length + localStorage.length + sessionStorage.length"
            #expect(try await tab.value(held).int64 == 0)
            let complaints =
                tab.events("Runtime.consoleAPICalled") + tab.events("Runtime.exceptionThrown")
                + tab.events("Log.entryAdded").filter { Self.isComplaint($0) }
            #expect(complaints.isEmpty, "\(scene.name): \(complaints.map { String(decoding: $0.raw, as: UTF8.self) })")
        }
    }

    @Test(arguments: [true, false])
    func `nothing moves for a user who wants it still`(hasReducedMotion: Bool) async throws {
        let device = Tab.Device(hasReducedMotion: hasReducedMotion)
        try await Self.visit([device], Scene.all.filter { $0.name == "working" }) { tab, _, _ in
            let count = try await tab.value("document.getAnimations().length").int64
            #expect(count == (hasReducedMotion ? 0 : 1))
        }
    }

    /// Opens the page of every scene on every device, each in a tab of its own.
    private static func visit(
        _ devices: [Tab.Device], _ scenes: [Scene] = Scene.all,
        _ look: @escaping @Sendable (Tab, Scene, Tab.Device) async throws -> Void
    ) async throws {
        try await TestHarness.browse { harness, chromium, client in
            for scene in scenes {
                for var device in devices {
                    device.runsScripts = !scene.needsScriptsOff
                    let address = harness.address(try await scene.prepare(harness, &client))
                    let tab = try await Tab(chromium, device)
                    try await tab.open(address)
                    try await look(tab, scene, device)
                    try await tab.call("Page.close")
                    try await scene.tidy(harness)
                }
            }
        }
    }

    private static func property(_ name: String, of node: JSONValue?) -> JSONValue? {
        node?["properties"]?.elements.first { $0["name"]?.string == name }?["value"]?["value"]
    }

    /// Messages that the browser writes into its console by itself about an answer that is no success, or an app that
    /// is not installed, is no complaint about the page.
    private static func isComplaint(_ message: JSONValue) -> Bool {
        let text = message["entry"]?["text"]?.string ?? ""
        let isStatus = text.hasPrefix("Failed to load resource: the server responded with a status of ")
        return !isStatus && !text.contains(TestHarness.appLink)
    }

    /// Measures the page: WCAG 2.2's contrast of every text with what lies behind it, sizes, and the ground.
    private static let looks = """
        (() => {
          const channels = color => color.match(/[\\d.]+/g).map(Number);
          const light = color => {
            const [r, g, b] = channels(color).map(v => v / 255)
              .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const behind = element => {
            for (let e = element; e; e = e.parentElement) {
              const color = getComputedStyle(e).backgroundColor;
              if ((channels(color)[3] ?? 1) > 0) return color;
            }
            return "rgb(255, 255, 255)";
          };
          const contrast = (a, b) => {
            const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
            return Math.round((high + 0.05) / (low + 0.05) * 100) / 100;
          };
          const texts = [...document.body.querySelectorAll("h1, p, a")]
            .filter(e => e.checkVisibility() && e.innerText.trim());
          const sign = [...document.querySelectorAll(".sign")].find(e => e.checkVisibility());
          const button = document.querySelector("a").getBoundingClientRect();
          return {
            contrasts: texts.map(e => contrast(getComputedStyle(e).color, behind(e))),
            sign: contrast(getComputedStyle(sign).stroke, getComputedStyle(sign).backgroundColor),
            isDark: light(behind(document.body)) < 0.2,
            width: document.documentElement.scrollWidth,
            target: Math.min(button.width, button.height),
            textSize: Math.min(...texts.map(e => parseFloat(getComputedStyle(e).fontSize))),
          };
        })()
        """
}
