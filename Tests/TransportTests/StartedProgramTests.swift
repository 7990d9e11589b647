import Glibc
import TestSupport
import Testing

/// The programs that tests start.
@Suite struct StartedProgramTests {
    @Test func `a started program blocks no signal, whatever the thread blocks that starts it`() throws {
        var terminations = sigset_t()
        var before = sigset_t()
        sigemptyset(&terminations)
        sigaddset(&terminations, SIGTERM)
        #expect(pthread_sigmask(SIG_BLOCK, &terminations, &before) == 0)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let command = ["/bin/grep", "SigBlk", "/proc/self/status"]
        let run = try ProgramRun(command, environment: [:])
        #expect(run.output == "SigBlk:\t0000000000000000\n")
        let program = try RunningProgram(command, environment: [:])
        #expect(program.waitForEnd() == 0)
        #expect(program.lines == ["SigBlk:\t0000000000000000"])
    }
}
