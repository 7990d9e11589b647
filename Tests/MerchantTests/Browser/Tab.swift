import BelvoSandbox
import FoundationEssentials
import JSON
import Testing

/// A page in the browser, as a person sees it on a phone.
struct Tab: Sendable {
    private let devTools: DevTools
    private let session: String

    /// How the device is set.
    struct Device: Sendable {
        var language = "en"
        var isDark = false
        var hasReducedMotion = true
        var width = 390
        var height = 844
        /// Device pixels per pixel; only pictures show the difference.
        var scale = 1
        var runsScripts = true
    }

    init(_ chromium: Chromium, _ device: Device = Device()) async throws {
        devTools = chromium.devTools
        let target = try await devTools.call("Target.createTarget") {
            $0.member("url", "about:blank")
            $0.member("browserContextId", chromium.context)
        }
        let id = try #require(target["targetId"]?.string)
        let attached = try await devTools.call("Target.attachToTarget") {
            $0.member("targetId", id)
            $0.member("flatten", true)
        }
        session = try #require(attached["sessionId"]?.string)
        for domain in ["Page", "Network", "Runtime", "Log", "Accessibility"] { try await call("\(domain).enable") }
        try await set(device)
    }

    /// Changes the device under the page.
    func set(_ device: Device) async throws {
        try await call("Network.setExtraHTTPHeaders") { parameters in
            parameters.memberObject("headers") { $0.member("Accept-Language", device.language) }
        }
        try await call("Emulation.setEmulatedMedia") { parameters in
            parameters.memberArray("features") { features in
                for (name, value) in [
                    ("prefers-color-scheme", device.isDark ? "dark" : "light"),
                    ("prefers-reduced-motion", device.hasReducedMotion ? "reduce" : "no-preference"),
                ] {
                    features.object {
                        $0.member("name", name)
                        $0.member("value", value)
                    }
                }
            }
        }
        try await call("Emulation.setDeviceMetricsOverride") {
            $0.member("width", device.width)
            $0.member("height", device.height)
            $0.member("deviceScaleFactor", device.scale)
            $0.member("mobile", true)
        }
        try await call("Emulation.setScriptExecutionDisabled") { $0.member("value", !device.runsScripts) }
    }

    /// Opens an address and waits until the page has loaded.
    func open(_ address: String) async throws {
        let start = mark
        try await call("Page.navigate") { $0.member("url", address) }
        try await event("Page.loadEventFired", after: start)
    }

    func reload() async throws {
        let start = mark
        try await call("Page.reload")
        try await event("Page.loadEventFired", after: start)
    }

    /// The number of events so far.
    var mark: Int { devTools.events.count }

    /// The first such event after a mark, as soon as there is one.
    @discardableResult
    func event(
        _ name: String, after mark: Int, where test: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> JSONValue {
        let session = session
        return try await devTools.event(after: mark) {
            $0.session == session && $0.name == name && test($0.values)
        }.values
    }

    /// All such events after a mark.
    func events(_ name: String, after mark: Int = 0) -> [JSONValue] {
        devTools.events.dropFirst(mark).filter { $0.session == session && $0.name == name }.map(\.values)
    }

    /// The value of a JavaScript expression.
    func value(_ expression: String) async throws -> JSONValue {
        let answer = try await call("Runtime.evaluate") {
            $0.member("expression", expression)
            $0.member("returnByValue", true)
            $0.member("awaitPromise", true)
        }
        if let exception = answer["exceptionDetails"] {
            throw BrowserFailure("\(expression): \(String(decoding: exception.raw, as: UTF8.self))")
        }
        return try #require(answer["result"]?["value"], "\(expression) has no value")
    }

    func text(_ expression: String) async throws -> String {
        try #require(try await value(expression).string, "\(expression) is no text")
    }

    /// The text of the first element of a selector that is shown.
    func text(of selector: String) async throws -> String {
        try await text("[...document.querySelectorAll('\(selector)')].find(e => e.checkVisibility()).innerText")
    }

    /// Lets the page do what it has put off until after the load: timers that are due run in their order.
    func runTimers() async throws {
        _ = try await value("new Promise(done => setTimeout(() => done(true)))")
    }

    /// Has the page tell each change of its heading; `changed(to:after:)` waits for one.
    func watchHeading() async throws {
        try await call("Runtime.addBinding") { $0.member("name", "headingChanged") }
        _ = try await value(
            """
            new MutationObserver(() => headingChanged(document.querySelector("h1").textContent))
              .observe(document.querySelector("main"), {subtree: true, childList: true}), true
            """)
    }

    func changed(to heading: String, after mark: Int) async throws {
        try await event("Runtime.bindingCalled", after: mark) { $0["payload"]?.string == heading }
    }

    /// The addresses that scripts of the page asked to go to.
    func requestedAddresses(after mark: Int = 0) -> [String] {
        events("Page.frameRequestedNavigation", after: mark).filter { $0["reason"]?.string == "scriptInitiated" }
            .compactMap { $0["url"]?.string }
    }

    /// Every address in the history of the page.
    func history() async throws -> [String] {
        try await call("Page.getNavigationHistory")["entries"]?.elements.compactMap { $0["url"]?.string } ?? []
    }

    /// The accessibility tree, as a screen reader gets it.
    func accessibilityTree() async throws -> [JSONValue] {
        try await call("Accessibility.getFullAXTree")["nodes"].map { Array($0.elements) } ?? []
    }

    /// The page as a PNG file.
    func picture() async throws -> [UInt8] {
        let picture = try await call("Page.captureScreenshot") {
            $0.member("format", "png")
            $0.member("optimizeForSpeed", false)
        }
        let file = try #require(picture["data"]?.string.flatMap { FoundationEssentials.Data(base64Encoded: $0) })
        return Array(file)
    }

    @discardableResult
    func call(_ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }) async throws -> JSONValue {
        try await devTools.call(method, session: session, parameters)
    }
}
