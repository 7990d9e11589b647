import Foundation

@testable import ExamplePix

// The code of examples/ios/README.md.

/// The app around the snippets.
@MainActor protocol Session {
    /// The signed-in user's own.
    var folder: URL { get }
    var token: String { get }
    func renewedToken() async throws -> String
}

@MainActor
func start(_ session: any Session, _ device: any Device, enrollment: String) async throws -> [Ending?] {
    let pix = Pix(
        api: "https://pix.shop.example",
        token: { refused in refused == nil ? session.token : try await session.renewedToken() },
        device: device,
        notebook: session.folder.appending(path: "pix.json"))
    let unfinished = try await pix.resume()  // when the app starts, and after every error
    let ending = try await pix.pay(enrollment, reference: "order-1")  // when the user touches
    return [unfinished, ending]
}

/// For `onOpenURL`, and for the `webpageURL` of a user activity.
@MainActor
func returned(to link: URL, _ pix: Pix) async throws {
    let parts = URLComponents(url: link, resolvingAgainstBaseURL: false)
    // By some banks it is in the fragment.
    let text = (parts?.percentEncodedQuery ?? "") + "&" + (parts?.percentEncodedFragment ?? "")
    var fields = URLComponents()
    fields.percentEncodedQuery = text.replacingOccurrences(of: "+", with: "%20")
    var said: [String: String] = [:]
    for name in ["state", "code", "id_token", "error", "error_description"] {
        said[name] = fields.queryItems?.first { $0.name == name }?.value
    }
    _ = try await pix.ask("POST", "/v1/enrollments/complete-redirection", said)
}
