import HTTP

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
}
