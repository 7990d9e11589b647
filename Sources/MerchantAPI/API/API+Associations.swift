import HTTP

extension API {
    /// `GET /.well-known/apple-app-site-association`
    func getAppleAssociation() throws -> Response {
        guard let file = associations.apple else { throw APIError.notFound }
        return file
    }

    /// `GET /.well-known/assetlinks.json`
    func getAndroidAssociation() throws -> Response {
        guard let file = associations.android else { throw APIError.notFound }
        return file
    }
}
