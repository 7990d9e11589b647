import JSON

/// A bank as the list of institutions shows it (belvo-api.md §3.2).
public struct Institution: Sendable, Identifiable {
    /// A UUID in lower case.
    public var id: String
    /// Belvo's name for it, which the `name` filter searches.
    public var name: String
    /// The name that a picker shows.
    public var displayName: String
    /// Inactive banks are listed and cannot be enrolled at.
    public var isActive: Bool
    /// The kind of its customers: persons or companies.
    public var kind: Kind
    /// The status of `open_finance_biometric_pix`; nil for a bank without it.
    public var biometricPix: String?

    /// `institution_type` on the wire.
    public enum Kind: String, Sendable {
        case individual = "INDIVIDUAL"
        case business = "BUSINESS"
    }

    public init(
        id: String, name: String, displayName: String, isActive: Bool = true, kind: Kind = .individual,
        biometricPix: String? = "AVAILABLE"
    ) {
        self.id = id
        self.name = name
        self.displayName = displayName
        self.isActive = isActive
        self.kind = kind
        self.biometricPix = biometricPix
    }

    /// Whether a device can be enrolled there.
    var enrolls: Bool { isActive && biometricPix == "AVAILABLE" }

    func write(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("name", name)
        writer.member("display_name", displayName)
        writer.member("legal_entity_name", "\(displayName) S.A.")
        writer.member("description", String?.none)
        writer.member("country", "BRA")
        writer.member("institution_type", kind.rawValue)
        writer.member("active", isActive)
        writer.member("icon_logo", "https://cdn.belvo.io/sandbox/\(name)/icon.svg")
        writer.member("text_logo", "https://cdn.belvo.io/sandbox/\(name)/text.svg")
        writer.member("logo", "https://cdn.belvo.io/sandbox/\(name)/logo.svg")
        writer.member("primary_color", "#0663F9")
        writer.member("sort_priority", Int64(1))
        writer.member("website", "https://\(name.split(separator: "_")[0]).example")
        writer.memberObject("payment_methods") { methods in
            methods.memberObject("pix") { $0.member("status", "AVAILABLE") }
            guard let biometricPix else { return }
            methods.memberObject("open_finance_biometric_pix") { method in
                method.member("status", biometricPix)
                method.member("status_reason", biometricPix == "AVAILABLE" ? nil : "temporarily_unavailable")
                method.member("phase", "GENERAL_AVAILABILITY")
            }
        }
    }

    /// Seven banks, of which four can enroll: the others are inactive, without Biometric Pix, or with it
    /// switched off.
    public static let samples: [Institution] = [
        Institution(
            id: "188716fb-39ad-44a7-a992-6c278d2b24a4", name: "mockbank_br_retail", displayName: "Mockbank"),
        Institution(
            id: "2f1d3c55-6b0e-4a43-9d0a-7c1f0b8e4d21", name: "ipe_br_retail", displayName: "Banco Ipê"),
        Institution(
            id: "3a9b0d1e-58c7-4e6f-b2a4-91d3c7f5e632", name: "aroeira_br_retail", displayName: "Aroeira"),
        Institution(
            id: "4c2e8f70-1d9a-4b35-8e57-a0f6d2b19c43", name: "jatoba_br_business", displayName: "Jatobá Empresas",
            kind: .business),
        Institution(
            id: "5d7f4a21-9e3b-4c80-a6d8-b1c0e3f27a54", name: "peroba_br_retail", displayName: "Peroba",
            isActive: false),
        Institution(
            id: "6e805b32-af4c-4d91-97e9-c2d1f4038b65", name: "cedro_br_retail", displayName: "Cedro",
            biometricPix: nil),
        Institution(
            id: "7f916c43-b05d-4ea2-88fa-d3e205149c76", name: "imbuia_br_retail", displayName: "Imbuia",
            biometricPix: "UNAVAILABLE"),
    ]
}
