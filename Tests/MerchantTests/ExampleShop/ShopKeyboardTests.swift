import JSON
import Testing

/// The example shop without a mouse: real keys, from the first screen to the receipt.
@Suite(
    .enabled(if: Chromium.path != nil, "\(Chromium.absence)"),
    .enabled(if: ShopDemo.isPossible, "the programs are not built"), .timeLimit(.minutes(5)))
struct ShopKeyboardTests {
    private static let devices = [
        ShopVisitor.Device(tab: .init(language: "en", width: 1440, height: 1000), hasReader: false),
        ShopVisitor.Device(tab: .init(language: "pt-BR", width: 360, height: 740), hasReader: false),
    ]

    @Test(arguments: devices)
    func `who has no mouse connects a bank and pays by Tab and Enter`(device: ShopVisitor.Device) async throws {
        try await ShopVisitor.visit(device) { visitor in
            let keyboard = Keyboard(visitor.tab)
            try await keyboard.go(to: ".skip", within: 1)
            try await keyboard.press(.enter)
            // Past the page's own head: what follows is the shop's.
            try await keyboard.go(to: "#cart", within: 1)
            try await keyboard.expectEveryStop()
            try await keyboard.go(to: "#set-up")
            try await keyboard.press(.enter)
            // A new screen has the focus at its heading, so its first field is one step away.
            try await visitor.see("#name")
            try await keyboard.go(to: "#name", within: 1)
            try await keyboard.write("Ana Souza")
            try await keyboard.go(to: "#cpf", within: 1)
            try await keyboard.write(try await visitor.tab.text("import('/app.js').then(app => app.exampleCPF())"))
            try await keyboard.expectEveryStop()
            try await keyboard.go(to: "#cpf")
            try await keyboard.press(.enter)
            try await visitor.see(".banks")
            try await keyboard.expectEveryStop()
            try await keyboard.go(to: ".banks li:last-child .row")
            try await keyboard.press(.enter)
            try await visitor.see("#open-bank")
            try await keyboard.go(to: "#open-bank", within: 1)
            try await visitor.visitBank {
                try await keyboard.press(.enter)
            } deciding: {
                try await keyboard.go(to: "button[value=approve]")
                try await keyboard.press(.enter)
            }
            try await visitor.see("#register")
            try await keyboard.go(to: "#register")
            try await keyboard.press(.space)
            try await visitor.see("#done")
            try await keyboard.go(to: "#done", within: 1)
            try await keyboard.press(.enter)
            try await visitor.see("#add-coffee")
            try await keyboard.go(to: "#add-coffee")
            try await keyboard.press(.space)
            // The button that was pressed keeps the focus when the screen is drawn anew.
            #expect(try await keyboard.stop().selector == "#add-coffee")
            try await visitor.see("#to-cart")
            try await keyboard.go(to: "#to-cart")
            try await keyboard.press(.enter)
            try await visitor.see("#pay")
            try await keyboard.expectEveryStop()
            try await keyboard.go(to: ".stepper button:last-child")
            try await keyboard.press(.space)
            #expect(try await visitor.text(of: ".stepper b") == "2")
            #expect(try await keyboard.stop().selector == "#more-coffee")
            try await keyboard.go(to: "#pay", within: 1)
            try await keyboard.press(.space)
            try await visitor.see("#more")
            try await visitor.see(".told[data-state=paid]")
            try await visitor.openFolds()
            try await keyboard.expectEveryStop()
            try await keyboard.go(to: "#more")
        }
    }

    @Test(arguments: devices)
    func `what stands beside the phone is worked by keys, and a dialog holds the focus and gives it back`(
        device: ShopVisitor.Device
    ) async throws {
        try await ShopVisitor.visit(device) { visitor in
            let keyboard = Keyboard(visitor.tab)
            try await visitor.enroll()
            if device.tab.width < 760 {
                try await keyboard.go(to: "#guide > summary")
                try await keyboard.press(.enter)
                try await keyboard.go(to: "#behind > summary")
                try await keyboard.press(.enter)
            }
            // The switches are one stop, and arrows choose among them.
            try await keyboard.go(to: "#mishap-none")
            try await keyboard.press(.down)
            #expect(try await keyboard.stop().selector == "#mishap-two_taps")
            try await keyboard.press(.down)
            #expect(try await keyboard.stop().selector == "#mishap-create_lost")
            try await keyboard.go(to: "#try", within: 1)
            try await keyboard.press(.enter)
            try await visitor.see("#verdict")
            #expect(try await visitor.tab.text("document.querySelector('#verdict').dataset.paid") == "1")

            try await visitor.see(".told[data-state=paid]")
            // The lines of what happens are one stop too, so that a user does not have to step through all of them.
            try await keyboard.go(to: #"#timeline summary[tabindex="0"]"#)
            try await keyboard.press(.up)
            #expect(try await keyboard.stop().faults == [])
            try await keyboard.press(.enter)
            try await visitor.see("#timeline details[open]:nth-last-of-type(2) pre")
            try await keyboard.press(.down)
            try await keyboard.press(.enter)
            try await visitor.see("#timeline details[open]:last-of-type pre")
            try await keyboard.go(to: "#show-sql")
            try await keyboard.press(.enter)
            try await visitor.see("dialog [data-title=history] td")
            let inside = try await keyboard.expectEveryStop(within: "dialog")
            #expect(inside.contains("#close-sql") && inside.count > 5)
            try await keyboard.press(.escape)
            try await visitor.see("#show-sql:focus")
            try await visitor.miss("dialog")
            #expect(visitor.complaints == [])
        }
    }
}
