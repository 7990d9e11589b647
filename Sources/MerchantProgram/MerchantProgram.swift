import ArgumentParser

@main
struct MerchantProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merchant",
        abstract: "The merchant backend for Biometric Pix: between a shop's mobile apps and Belvo.",
        version: "merchant 1.1.0, commit \(BuiltFrom.commit)",
        subcommands: [
            Serve.self, Migrate.self, Ready.self, Token.self, Doctor.self, Status.self, Inspect.self, Requeue.self,
            Reconcile.self, Export.self, Erase.self, RotateKeys.self, Probe.self,
        ])
}

/// Where every command finds its settings.
struct SettingsOptions: ParsableArguments {
    @Option(name: .customLong("config"), help: "File of NAME=value lines; the environment wins over it.")
    var file: String?
}
