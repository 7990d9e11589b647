import JSON
import TestSupport
import Testing

/// The example shop in a real browser, by its own buttons, with everything running that `./dev run` starts.
@Suite(
    .enabled(if: Chromium.path != nil, "\(Chromium.absence)"),
    .enabled(if: ShopDemo.isPossible, "the programs are not built"), .timeLimit(.minutes(5)))
struct ShopPageTests {
    private static let devices = [
        ShopVisitor.Device(),
        ShopVisitor.Device(tab: .init(language: "pt-BR", isDark: true, width: 1440, height: 1000), hasReader: false),
        ShopVisitor.Device(tab: .init(language: "en", width: 360, height: 740)),
    ]

    @Test(arguments: devices)
    func `a visitor connects a bank and pays with one touch, and every screen can be read and used`(
        device: ShopVisitor.Device
    ) async throws {
        try await ShopVisitor.visit(device) { visitor in
            let look = { (screen: String) in try await Self.inspect(screen, visitor, width: device.tab.width) }
            try await visitor.enroll(look)
            let kind = try await visitor.tab.text("localStorage.getItem('shop.authenticator')")
            #expect(kind == (device.hasReader ? "machine" : "software"))
            try await visitor.buy(look)
            try await visitor.see(".told[data-state=paid]")
            #expect(try await visitor.text(of: "#end-to-end").hasPrefix("E"))
            #expect(try await visitor.text(of: ".amount").contains("87"))
            try await look("receipt")
            _ = try await visitor.tab.value("document.querySelector('#behind').open = true")
            try await visitor.press("#show-sql")
            try await visitor.see("dialog [data-title=history] td")
            try await look("sql")
            let history = try await visitor.tab.text("document.querySelector('[data-title=history]').innerText")
            for state in ["creating", "awaiting_signature", "authorizing", "succeeded"] {
                #expect(history.contains(state), "\(state)")
            }
            #expect(
                try await visitor.tab.value("document.querySelector('[data-title=double] table') === null").bool == true
            )
            #expect(visitor.complaints == [])
        }
    }

    /// How often is paid, by the page's own count of both sides' records.
    private static let mishaps = [
        ("two_taps", 1), ("create_lost", 1), ("authorize_lost", 1), ("killed", 1), ("away", 1), ("webhooks_lost", 1),
        ("late_success", 1), ("refused", 0),
    ]

    @Test(arguments: [true, false])
    func `whatever is made to go wrong, an order is paid once or not at all`(hasReader: Bool) async throws {
        try await ShopVisitor.visit(.init(hasReader: hasReader)) { visitor in
            try await visitor.enroll()
            for (name, count) in Self.mishaps {
                try await visitor.press("#mishap-\(name)")
                #expect(try await visitor.text(of: ".expect p").isEmpty == false, "\(name)")
                try await visitor.press("#try")
                try await visitor.see("#verdict")
                let verdict = try await visitor.tab.text("document.querySelector('#verdict').dataset.paid")
                #expect(verdict == "\(count)", "\(name)")
                #expect(
                    try await visitor.tab.value("!!document.querySelector('.verdict.right')").bool == true, "\(name)")
                try await visitor.press(count == 1 ? "#more" : "#retry")
            }
            let lines = try await visitor.tab.text("document.querySelector('#timeline').textContent")
            #expect(lines.contains("kill -9") || lines.contains("insufficient_funds") || lines.contains("409"))
            #expect(visitor.complaints == [])
        }
    }

    @Test func `who only presses next has paid after six steps, broken something after seven, and reads SQL at eight`()
        async throws
    {
        try await ShopVisitor.visit(.init(hasReader: false)) { visitor in
            for step in 1...3 {
                #expect(try await visitor.text(of: ".tour h3 span") == "\(step)")
                try await visitor.press("#next")
                try await visitor.see([1: "#example", 2: ".banks", 3: "#open-bank"][step] ?? "")
                try await visitor.see("[aria-label='\(step + 1) / 8']")
            }
            #expect(try await visitor.text(of: ".tour h3 span") == "4")
            try await visitor.approveAtBank()
            try await visitor.press("#next")
            try await visitor.see("[aria-label='5 / 8']")
            try await visitor.see("#register")
            try await visitor.press("#next")
            try await visitor.see("#done")
            try await visitor.press("#next")
            try await visitor.see("#more")
            try await visitor.see("[aria-label='7 / 8']")
            try await visitor.press("#next")
            try await visitor.see("[aria-label='8 / 8']")
            try await visitor.see(".verdict.right")
            // It is about this payment, which befell what was chosen, and not about the one before.
            #expect(try await visitor.tab.text("document.querySelector('#screen').dataset.screen") == "receipt")
            let lines = try await visitor.tab.text("document.querySelector('#timeline').textContent")
            #expect(lines.contains("answer lost"))
            try await visitor.press("#next")
            try await visitor.see("dialog [data-title=row] td")
            #expect(visitor.complaints == [])
        }
    }

    @Test func `a user who refuses at the bank is told so, and may begin again`() async throws {
        try await ShopVisitor.visit(.init(hasReader: false)) { visitor in
            try await visitor.press("#set-up")
            try await visitor.press("#example")
            try await visitor.press("#continue")
            try await visitor.press(".banks li:last-child .row")
            try await visitor.approveAtBank("refuse")
            try await visitor.see("#retry")
            #expect(try await visitor.text(of: "#screen h1") == "Shall we try again?")
            try await visitor.press("#retry")
            try await visitor.see(".banks")
        }
    }

    @Test func `a payment that was under way goes on when its page is opened again`() async throws {
        try await ShopVisitor.visit(.init(hasReader: false)) { visitor in
            try await visitor.enroll()
            try await visitor.press("#add-tea")
            try await visitor.press("#to-cart")
            try await visitor.press("#pay")
            try await visitor.see(".machine [data-state=awaiting_signature]")
            try await visitor.tab.reload()
            try await visitor.see("#more")
            #expect(try await visitor.text(of: ".amount").contains("18"))
        }
    }

    @Test(arguments: [CallFault.losses, CallFault.lostAnswers])
    func `what gets lost on its way is brought again by the page, and is there once`(faults: [CallFault]) async throws {
        try await ShopVisitor.visit(.init(hasReader: false)) { visitor in
            try await visitor.demo.add(faults)
            try await visitor.enroll()
            try await visitor.buy()
            #expect(try await visitor.text(of: ".amount").contains("87"))
            try await visitor.demo.expectOneOfEach(after: faults)
            #expect(visitor.complaints == [])
        }
    }

    @Test func `the language is the visitor's, and changes at a button`() async throws {
        try await ShopVisitor.visit(.init(hasReader: false)) { visitor in
            #expect(try await visitor.text(of: ".lead h2") == "Pix with one touch.")
            try await visitor.press("#language")
            #expect(try await visitor.text(of: ".lead h2") == "Pix com um toque.")
            #expect(try await visitor.tab.text("document.documentElement.lang") == "pt-BR")
        }
    }

    /// Contrast, sizes, names and width of what stands there: the promises of WCAG 2.2 AA that can be measured.
    private static func inspect(_ screen: String, _ visitor: ShopVisitor, width: Int) async throws {
        let report = try await visitor.tab.value(ShopPageTests.measure)
        let faults = report["faults"]?.elements.compactMap(\.string) ?? []
        #expect(faults == [], "\(screen), \(width) px")
        #expect(report["texts"]?.int64 ?? 0 > 3, "\(screen): there is something to measure")
        #expect(report["width"]?.int64 ?? .max <= Int64(width), "\(screen): nothing is cut off at the side")
    }

    private static let measure = """
        (async () => {
          // Where it comes to rest is what counts.
          for (const animation of document.getAnimations()) {
            if (animation.effect.getTiming().iterations !== Infinity) animation.finish(); else animation.cancel();
          }
          const channels = color => {
            const canvas = new OffscreenCanvas(1, 1).getContext("2d");
            canvas.fillStyle = color;
            canvas.fillRect(0, 0, 1, 1);
            return [...canvas.getImageData(0, 0, 1, 1).data];
          };
          const light = color => {
            const [r, g, b] = channels(color).map(v => v / 255)
              .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const behind = element => {
            for (let e = element; e; e = e.parentElement) {
              const color = getComputedStyle(e).backgroundColor;
              if (channels(color)[3] === 255) return color;
            }
            return "white";
          };
          const faults = [];
          const dialog = document.querySelector("dialog[open]");
          const seen = e => e.checkVisibility({visibilityProperty: true}) && (!dialog || dialog.contains(e))
            && !e.closest(".visually-hidden, .skip");
          const name = e => `${e.tagName.toLowerCase()}#${e.id}.${e.className} ${e.textContent}`.slice(0, 60);
          const texts = [...document.querySelectorAll("body *")].filter(e => seen(e)
            && !e.closest("svg, :disabled, [aria-disabled=true]")
            && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()));
          for (const e of texts) {
            const [high, low] = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => b - a);
            const contrast = (high + 0.05) / (low + 0.05);
            if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${name(e)}`);
            if (parseFloat(getComputedStyle(e).fontSize) < 11.5) faults.push(`small: ${name(e)}`);
          }
          const usable = document.querySelectorAll("button, a[href], input, summary, [tabindex='0']");
          for (const e of [...usable].filter(seen)) {
            const {width, height} = e.getBoundingClientRect();
            // A radio button's label is part of its target.
            const isSmall = Math.min(width, height) < 24 && e.type !== "radio";
            if (isSmall) faults.push(`target ${width}×${height}: ${name(e)}`);
            const label = e.getAttribute("aria-label") || e.innerText?.trim() || e.labels?.[0]?.innerText;
            if (!label) faults.push(`no name: ${name(e)}`);
            if (e.tabIndex > 0) faults.push(`order of its own: ${name(e)}`);
          }
          const headings = [...document.querySelectorAll("#screen h1")].filter(seen);
          if (!dialog && headings.length !== 1) faults.push(`${headings.length} headings`);
          return {faults, texts: texts.length, width: document.documentElement.scrollWidth};
        })()
        """
}
