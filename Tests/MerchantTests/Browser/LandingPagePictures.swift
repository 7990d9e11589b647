import FoundationEssentials
import Glibc
import Testing

/// Draws `docs/landing`, when `WRITE_SCREENSHOTS` says so: `./dev screenshots`.
@Suite(
    .enabled(if: Chromium.path != nil && getenv("WRITE_SCREENSHOTS") != nil, "WRITE_SCREENSHOTS=1 writes docs/landing"))
struct LandingPagePictures {
    private static let dark: Set<String> = ["working", "approved", "failed", "used"]

    @Test(arguments: Scene.languages)
    func `every state is drawn as a phone shows it`(language: String) async throws {
        let directory = try Self.directory()
        try await TestHarness.browse { harness, chromium, client in
            for scene in Scene.all {
                for isDark in language == "pt-BR" && Self.dark.contains(scene.name) ? [false, true] : [false] {
                    let device = Tab.Device(
                        language: language, isDark: isDark, hasReducedMotion: true,
                        runsScripts: !scene.needsScriptsOff)
                    let address = harness.address(try await scene.prepare(harness, &client))
                    let tab = try await Tab(chromium, device)
                    try await tab.open(address)
                    let name = "\(language)-\(scene.name)\(isDark ? "-dark" : "").png"
                    try await Data(tab.picture()).write(to: directory.appending(path: name))
                    try await tab.call("Page.close")
                    try await scene.tidy(harness)
                }
            }
        }
    }

    private static func directory() throws -> URL {
        let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let directory = root.appending(path: "docs/landing")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory
    }
}
