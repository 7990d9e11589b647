import HTTP
import JSON

extension Client {
    /// Mints a token for the SDK of one app (belvo-api.md §2.1).
    public func mintWidgetToken(trace: TraceParent? = nil) async throws(BelvoError) -> WidgetToken {
        let body: [UInt8] =
            switch configuration.dialect.widgetTokenBody {
            case .none: []
            case .emptyObject: Array("{}".utf8)
            }
        return try await object(.mintWidgetToken, post(Path.widgetToken, body, trace), reading: WidgetToken.init)
    }

    /// Asks for a new access token with the refresh token that came beside an earlier one.
    ///
    /// Belvo documents neither the path nor the bodies (belvo-api.md §2.1). The claims of its tokens are those of
    /// Simple JWT for Django, so that library's are spoken: `refresh` goes there, `access` comes back, and perhaps a
    /// `refresh` that takes the place of the one that was used.
    public func refreshWidgetToken(
        _ refresh: WidgetToken.Secret, at path: String, trace: TraceParent? = nil
    ) async throws(BelvoError) -> WidgetToken {
        let body = JSONWriter.object { $0.member("refresh", refresh.text) }
        return try await object(.refreshWidgetToken, post(path, body, trace), reading: WidgetToken.init)
    }
}
