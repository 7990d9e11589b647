import ArgumentParser
import HTTP
import SoftwareAuthenticator
import Transport

struct Wait: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Has many apps wait for their enrollments to change, each on a connection of its own.",
        discussion: """
            Each app has an enrollment that waits for its user at the bank. Orders on standard input, one a line, each \
            answered by a line:
              open       every app connects and reads its enrollment once
              wait       every app asks again and again to be told of a change, 30 seconds at a time
              change N   N enrollments are changed through the other instance, one after the other:
                         TOLD P50_US P99_US MAX_US, from the request for the change to the answer of the app that waits
            The line "started" comes first. The end of the input ends the program.
            """)

    @Option(help: "The origin of the instance at which the apps wait.") var merchant: String
    @Option(help: "The origin of the instance through which enrollments are changed.") var other: String
    @Option(help: "A file of tokens, one a line, each for a user with a share of the apps.") var tokens: String
    @Option(help: "How many apps wait.") var apps: Int

    func run() throws {
        DescriptorLimit.raise()
        let tokens = try PhoneFile.lines(of: tokens)
        let (here, there) = (try origin(merchant), try origin(other))
        let loop = try EventLoop()
        _ = loop.task {
            do {
                let room = try await WaitingRoom.open(apps, tokens: tokens, at: here, changing: there, on: loop)
                say("started")
                while let line = await BlockingThreads.shared.run({ readLine() }) {
                    say(try await room.obey(line))
                }
                loop.stop()
            } catch {
                Wait.exit(withError: error)
            }
        }
        loop.run()
    }
}
