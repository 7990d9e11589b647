import ArgumentParser

@main
struct BelvoSandboxProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belvo-sandbox",
        abstract: "A stand-in for Belvo Payments (Brazil) with Biometric Pix, and for the bank behind it.",
        subcommands: [Serve.self])
}
