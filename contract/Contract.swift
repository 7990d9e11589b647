/// The contract with apps, banks and operators: the OpenAPI document `openapi.json` in this folder, built into the
/// program so that it needs no file beside it.
public enum Contract {
    /// The document's text, in UTF-8.
    public static let document: [UInt8] = PackageResources.openapi_json
}
