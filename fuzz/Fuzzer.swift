import FuzzProperties
import Glibc

/// What libFuzzer calls with bytes that it made up; `FUZZ_TARGET` names the reader that gets them.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let promise = target.findBrokenPromise(bytes) {
        say("\nBroken promise (\(target)): \(promise)")
        // libFuzzer keeps the bytes that led here.
        abort()
    }
    return 0
}

private let target: FuzzTarget = {
    let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
        say("FUZZ_TARGET is one of \(names).")
        exit(64)
    }
    return target
}()

private func say(_ line: String) {
    print(line)
    fflush(nil)
}
