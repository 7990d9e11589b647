import FoundationEssentials
import Glibc
import JSON
import TestSupport
import Testing

/// axe-core, the checks of accessibility that most tools run; `./dev test` fetches it.
private enum Axe {
    static let path = getenv("TEST_AXE").map { String(cString: $0) }
        .flatMap { (path: String) in access(path, R_OK) == 0 ? path : nil }

    /// The program's text, which is nothing of this repository.
    static func program() throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: try #require(path))), as: UTF8.self)
    }

    /// Runs every rule on what stands there, and gives what is violated.
    static let run = """
        (async () => {
          for (const animation of document.getAnimations()) {
            if (animation.effect.getTiming().iterations !== Infinity) animation.finish(); else animation.cancel();
          }
          const {violations, passes} = await axe.run(document, {resultTypes: ["violations"]});
          return {
            passes: passes.length,
            violations: violations.flatMap(v => v.nodes.map(n => `${v.id}: ${n.target} ${n.failureSummary}`)),
          };
        })()
        """
}

/// Every step of the example shop's page against axe-core, by day and by night.
@Suite(
    .enabled(if: Chromium.path != nil, "\(Chromium.absence)"),
    .enabled(if: ShopDemo.isPossible, "the programs are not built"),
    .enabled(if: Axe.path != nil, "TEST_AXE names no axe.min.js, which ./dev test gets from PyPI"),
    .timeLimit(.minutes(5)))
struct ShopAccessibilityTests {
    private static let devices = [
        ShopVisitor.Device(tab: .init(language: "en", width: 1440, height: 1000), hasReader: false),
        ShopVisitor.Device(tab: .init(language: "pt-BR", width: 768, height: 1024), hasReader: false),
        ShopVisitor.Device(tab: .init(language: "pt-BR", width: 360, height: 740)),
    ]

    @Test(arguments: devices)
    func `no step of a visit violates a rule of axe-core, by day or by night`(device: ShopVisitor.Device) async throws {
        try await ShopVisitor.visit(device) { visitor in
            let seen = Box<[String]>([])
            let look = { (screen: String) in
                for isDark in [false, true] {
                    try await Self.inspect("\(screen)\(isDark ? ", dark" : "")", visitor, isDark, device)
                }
                seen.update { $0.append(screen) }
            }
            try await visitor.press("#set-up")
            try await visitor.press("#continue")
            try await visitor.see("#cpf-fault")
            try await look("person with faults")
            try await visitor.press("#screen .round")
            try await visitor.enroll(look)
            try await visitor.press("#cart")
            try await visitor.see("#screen[data-screen=cart]")
            try await look("empty cart")
            try await visitor.press("#done")
            try await visitor.buy(look)
            try await visitor.see(".told[data-state=paid]")
            try await look("receipt")
            try await visitor.press("#timeline details:last-of-type summary")
            try await look("an exchange opened")
            try await visitor.press("#show-sql")
            try await visitor.see("dialog [data-title=history] td")
            try await look("sql")
            try await visitor.press("#close-sql")
            try await visitor.press("#more")
            try await visitor.press("#mishap-refused")
            try await look("a mishap chosen")
            try await visitor.press("#try")
            try await visitor.see("#verdict")
            try await look("failed")
            #expect(seen.value.count == 14)
        }
    }

    private static func inspect(
        _ screen: String, _ visitor: ShopVisitor, _ isDark: Bool, _ device: ShopVisitor.Device
    ) async throws {
        var tab = device.tab
        tab.isDark = isDark
        try await visitor.tab.set(tab)
        try await visitor.openFolds()
        // The bank's page and back: the page is another one, and has to be told again.
        if try await visitor.tab.value("'axe' in window").bool == false {
            let program = try Axe.program()
            _ = try await visitor.tab.value("\(program); true")
        }
        let report = try await visitor.tab.value(Axe.run)
        #expect(report["violations"]?.elements.compactMap(\.string) == [], "\(screen), \(device.tab.width) px")
        #expect(report["passes"]?.int64 ?? 0 > 10, "\(screen): there is something to check")
    }
}
