import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The Kotlin compiler of Debian.
private enum Kotlin {
    static let json = "/usr/share/java/json-android.jar"
    /// The program that signs.
    static let phone = (CommandTests.program ?? "").replacing("/merchant", with: "/phone")

    static let isInstalled: Bool =
        access("/usr/bin/kotlinc", X_OK) == 0 && access(json, R_OK) == 0 && access(phone, X_OK) == 0
}

/// The loop of `examples/android`, compiled by Debian's Kotlin, on a server with its workers.
@Suite(.timeLimit(.minutes(10))) struct AndroidExampleTests {
    @Test(.enabled(if: Kotlin.isInstalled, "apt-get install kotlin libandroid-json-org-java"))
    func `the Kotlin loop compiles, binds a phone to a bank and pays an order once, whatever gets lost`() async throws {
        let place = "/tmp/android-example-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        // A directory left behind matters less than what the test found.
        defer { try? FileManager.default.removeItem(atPath: place) }
        let environment = ["PATH": "/usr/bin:/bin", "HOME": place]
        let sources = ["examples/android/Pix.kt", "Tests/MerchantTests/Examples/Android/Main.kt"]
        let compiled = try await onThread {
            try ProgramRun(
                ["/usr/bin/kotlinc"] + sources.map { "\(Guide.root)/\($0)" } + ["-cp", Kotlin.json, "-d", place],
                environment: environment)
        }
        #expect(compiled.code == 0, "\(compiled)")
        let warnings = compiled.errors.split(separator: "\n").filter { $0.contains(".kt:") }
        #expect(warnings == [])

        for faults in [[], CallFault.losses, CallFault.lostAnswers] {
            try await Self.play(faults, in: place, environment)
        }
    }

    private static func play(_ faults: [CallFault], in place: String, _ environment: [String: String]) async throws {
        try await ShopDemo.open { demo in
            try await demo.add(faults)
            #expect(try await demo.placeOrder("order-1", of: "ana", amount: "19.90") == 201)
            let user = try await demo.token(of: "ana")
            let arguments = [demo.server, user, Kotlin.phone, "\(place)/phone.json", AppClient.bank, "order-1"]
            let run = try await onThread {
                try ProgramRun(
                    ["/usr/bin/kotlin", "-cp", "\(place):\(Kotlin.json)", "MainKt"] + arguments,
                    environment: environment)
            }
            #expect(run.code == 0, "\(run)")
            let last = run.output.split(separator: "\n").last ?? ""
            #expect(last.hasPrefix("paid order-1 E"), "\(run)")
            try await demo.expectOneOfEach(after: faults)
        }
    }
}
