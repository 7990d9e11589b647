import ArgumentParser

@main
struct LoadProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "What `./dev bench` measures with: many phones that enroll and pay, and a stopwatch.",
        subcommands: [Drive.self, Flood.self, Idle.self, Ready.self, Secure.self, Wait.self])
}
