// swift-tools-version: 6.2
import PackageDescription

// A package of its own: it brings SwiftNIO, which the server's package does without. Its folder cannot have its name,
// or the package would take itself for its dependency.
let package = Package(
    name: "hummingbird-peer",
    platforms: [.macOS(.v14)],
    dependencies: [.package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0")],
    targets: [
        .executableTarget(
            name: "Peer", dependencies: [.product(name: "Hummingbird", package: "hummingbird")], path: "Sources/Peer")
    ]
)
