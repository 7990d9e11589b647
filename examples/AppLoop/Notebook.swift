import Foundation

/// Where pending requests are written down, so that a phone that dies in the middle forgets nothing: a folder of small
/// files.
///
/// Give each user a folder of his own, in Application Support, and remove it when he signs out.
public struct Notebook: Sendable {
    private let folder: URL

    public init(folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// What has not ended yet, oldest first.
    public func pendingRequests() throws -> [PendingRequest] {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return files.compactMap { file in
            // Pages are written whole or not at all. One that cannot be read is of another version of the app, and
            // what became of it is in the server's lists.
            try? JSONDecoder().decode(PendingRequest.self, from: Data(contentsOf: file))
        }.sorted { $0.startedAt < $1.startedAt }
    }

    func keep(_ pending: PendingRequest) throws {
        try JSONEncoder().encode(pending).write(to: page(of: pending), options: .atomic)
    }

    func forget(_ pending: PendingRequest) {
        // If the page stays, the pending request is looked at once more and found to have ended.
        try? FileManager.default.removeItem(at: page(of: pending))
    }

    private func page(of pending: PendingRequest) -> URL {
        folder.appendingPathComponent("\(pending.id).json")
    }
}
