import BelvoSandbox
import JSON
import Testing

/// The callback page's own actions, in a real browser.
@Suite(.enabled(if: Chromium.path != nil, "\(Chromium.absence)"), .timeLimit(.minutes(2)))
struct LandingPageConductTests {
    /// A page that asks again after so short a time that a test can wait for it.
    private static let impatient = ["POLL_INTERVAL_MS": "100"]

    @Test func `a fragment is posted as a form, and its page shows the result`() async throws {
        try await TestHarness.browse { harness, chromium, client in
            harness.sandbox.variants.callback = .fragment
            let enrollment = try await client.startEnrollment()
            let fragment = try client.decide(enrollment).callbackURL.drop { $0 != "#" }
            let tab = try await Tab(chromium)
            let start = tab.mark
            try await tab.call("Page.navigate") { $0.member("url", harness.address(String(fragment))) }
            let posted = try await tab.event("Network.requestWillBeSent", after: start) {
                $0["request"]?["method"]?.string == "POST"
            }
            #expect(posted["request"]?["url"]?.string == harness.address(""))
            try await tab.event("Page.loadEventFired", after: start)
            #expect(try await tab.text(of: "h1") == "Bank confirmed")
            #expect(harness.countCalls(.completeRedirection) == 1)
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "poll")
            for address in try await tab.history() { #expect(!address.contains("code") && !address.contains("state")) }
        }
    }

    @Test func `without anything in the fragment the page says what is missing`() async throws {
        try await TestHarness.browse { harness, chromium, _ in
            let tab = try await Tab(chromium)
            try await tab.open(harness.address("#nothing=here"))
            #expect(try await tab.text(of: "h1") == "Incomplete address")
            #expect(try await tab.text("document.title") == "Incomplete address")
            #expect(try await tab.text("location.href") == harness.address(""))
        }
    }

    @Test func `a page that waits follows the enrollment to its end by itself, and opens the app once`() async throws {
        try await TestHarness.browse(environment: Self.impatient) { harness, chromium, client in
            let enrollment = try await client.startEnrollment()
            harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
            let tab = try await Tab(chromium)
            let start = tab.mark
            try await tab.open(harness.address("?\(Browser.form(try client.decide(enrollment)))"))
            try await tab.runTimers()
            #expect(try await tab.text(of: "h1") == "Almost there")
            #expect(tab.requestedAddresses(after: start).isEmpty)
            try await tab.watchHeading()
            _ = try await tab.value("document.querySelector('a').focus(), true")

            try await harness.advance(by: .seconds(5))  // Belvo has asked for silence.
            try await harness.poll()
            try await tab.changed(to: "Bank confirmed", after: start)
            let link = "\(TestHarness.appLink)&enrollment=\(enrollment.id)&status="
            try await tab.event("Page.frameRequestedNavigation", after: start) {
                $0["url"]?.string == link + "PENDING"
            }
            #expect(try await tab.text("document.title") == "Bank confirmed")
            #expect(try await tab.text("document.querySelector('a').getAttribute('href')") == link + "PENDING")
            #expect(try await tab.text("document.activeElement.tagName") == "A", "the focus stays where it was")

            try await client.finish(enrollment)
            try await tab.changed(to: "All done", after: start)
            #expect(try await tab.text("document.querySelector('a').getAttribute('href')") == link + "SUCCEEDED")
            #expect(tab.requestedAddresses(after: start) == [link + "PENDING"])
            // Nothing more to wait for: the page asks no more.
            #expect(try await tab.value("'every' in document.querySelector('main').dataset").bool == false)

            try await tab.reload()
            try await tab.runTimers()
            #expect(try await tab.text(of: "h1") == "All done")
            #expect(tab.requestedAddresses(after: start) == [link + "PENDING"], "a reload opens nothing again")
            let complaints = tab.events("Log.entryAdded", after: start).compactMap { $0["entry"]?["text"]?.string }
            #expect(
                complaints.filter { !$0.contains(TestHarness.appLink) } == [], "the console is silent while it asks")
        }
    }

    @Test func `a browser's page leads back to the shop once the bank has confirmed, and only then`() async throws {
        let shop = "https://shop.example/pay?from=bank"
        let environment = Self.impatient.merging(["WEB_RETURN_URL": shop]) { $1 }
        try await TestHarness.browse(environment: environment) { harness, chromium, client in
            let enrollment = try await client.startEnrollment(on: "BROWSER")
            harness.sandbox.variants.redirect = .pushedAuthorization
            let hidden = try await client.startEnrollment(on: "BROWSER")
            for enrollment in [enrollment, hidden] {
                harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
                let tab = try await Tab(chromium)
                let start = tab.mark
                try await tab.open(harness.address("?\(Browser.form(try client.decide(enrollment)))"))
                try await tab.runTimers()
                // Until Belvo has taken the code, the page does not say whose enrollment it is.
                #expect(try await tab.text("document.querySelector('a').textContent") == "Back to the app")
                #expect(tab.requestedAddresses(after: start).isEmpty)
                try await harness.advance(by: .seconds(5))  // Belvo has asked for silence.
                try await harness.poll()
                try await tab.event("Page.frameRequestedNavigation", after: start) {
                    $0["url"]?.string == "\(shop)&enrollment=\(enrollment.id)&status=PENDING"
                }
            }
        }
    }

    @Test func `a page that was out of sight asks at once when it is seen again`() async throws {
        try await TestHarness.browse(environment: ["POLL_INTERVAL_MS": "120000"]) { harness, chromium, client in
            let enrollment = try await client.startEnrollment()
            harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
            let tab = try await Tab(chromium)
            try await tab.open(harness.address("?\(Browser.form(try client.decide(enrollment)))"))
            try await tab.watchHeading()
            let start = tab.mark
            try await harness.poll()
            _ = try await tab.value("document.dispatchEvent(new Event('visibilitychange'))")
            try await tab.changed(to: "Bank confirmed", after: start)
        }
    }

    @Test func `without scripts the browser asks again by itself, and the button leads to the app`() async throws {
        try await TestHarness.browse(environment: Self.impatient) { harness, chromium, client in
            let enrollment = try await client.startEnrollment()
            harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
            let tab = try await Tab(chromium, .init(runsScripts: false))
            var start = tab.mark
            try await tab.open(harness.address("?\(Browser.form(try client.decide(enrollment)))"))
            #expect(try await tab.text(of: "h1") == "Almost there")
            try await tab.event("Page.loadEventFired", after: tab.mark)
            #expect(try await tab.text("location.href").contains("?ticket="))
            start = tab.mark
            try await harness.advance(by: .seconds(5))  // Belvo has asked for silence.
            try await harness.poll()
            while try await tab.text(of: "h1") != "Bank confirmed" {
                try await tab.event("Page.loadEventFired", after: start)
                start = tab.mark
            }
            #expect(
                try await tab.text("document.querySelector('a').getAttribute('href')")
                    == "\(TestHarness.appLink)&enrollment=\(enrollment.id)&status=PENDING")
            #expect(try await tab.value("document.querySelector('a').checkVisibility()").bool == true)
            #expect(tab.requestedAddresses().isEmpty)
            #expect(harness.countCalls(.completeRedirection) == 2)
        }
    }

    @Test func `the code leaves the address and the history, and a reload reaches nobody at Belvo`() async throws {
        try await TestHarness.browse { harness, chromium, client in
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            let tab = try await Tab(chromium)
            try await tab.open(harness.address("?\(Browser.form(reply))"))
            let calls = harness.sandbox.calls.count
            for _ in 0..<2 {
                for address in try await tab.history() {
                    for secret in ["state", "code", "id_token"] {
                        #expect(!address.contains("\(secret)="), "\(address)")
                        #expect(!address.contains(reply[secret] ?? "?"), "\(address)")
                    }
                }
                try await tab.reload()
                #expect(try await tab.text(of: "h1") == "Bank confirmed")
            }
            #expect(harness.sandbox.calls.count == calls)
        }
    }

    @Test(arguments: Scene.all)
    func `the app is opened by itself where it should go on, and else by the button alone`(scene: Scene) async throws {
        try await TestHarness.browse { harness, chromium, client in
            let address = harness.address(try await scene.prepare(harness, &client))
            let tab = try await Tab(chromium, .init(runsScripts: !scene.needsScriptsOff))
            try await tab.open(address)
            let link = try await tab.text("document.querySelector('a').getAttribute('href')")
            #expect(link.hasPrefix(TestHarness.appLink))
            if scene.opensApp {
                try await tab.event("Page.frameRequestedNavigation", after: 0) { $0["url"]?.string == link }
            }
            if !scene.needsScriptsOff { try await tab.runTimers() }
            #expect(tab.requestedAddresses() == (scene.opensApp ? [link] : []))
            // An old address opened again and reloaded is still an old one.
            if !scene.needsScriptsOff, scene.name != "unavailable" {
                try await tab.reload()
                try await tab.runTimers()
            }
            #expect(tab.requestedAddresses() == (scene.opensApp ? [link] : []))
            try await scene.tidy(harness)
        }
    }

    @Test func `a redirect that could not be stored is brought again by the page`() async throws {
        try await TestHarness.browse { harness, chromium, client in
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            try await harness.loseReceipts()
            let tab = try await Tab(chromium)
            try await tab.open(harness.address("?\(Browser.form(reply))"))
            #expect(try await tab.text(of: "h1") == "Just a moment")
            #expect(harness.countCalls(.completeRedirection) == 0)
            try await harness.findReceipts()
            try await tab.event("Page.loadEventFired", after: tab.mark)
            #expect(try await tab.text(of: "h1") == "Bank confirmed")
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "poll")
        }
    }
}
