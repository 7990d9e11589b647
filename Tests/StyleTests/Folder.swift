/// The folders of their target that the files of one folder may use. The compiler sees targets and no folders.
struct Folder: Sendable, CustomStringConvertible {
    let target: String
    /// Empty for the files that stand beside the folders.
    let name: String
    let uses: Set<String>

    private init(_ target: String, _ name: String, uses: Set<String> = []) {
        self.target = target
        self.name = name
        self.uses = uses
    }

    var description: String { name.isEmpty ? target : "\(target)/\(name)" }

    /// Lowest first. Every folder of a target that stands here has a row.
    static let all: [Folder] = [
        Folder("Transport", ""),
        Folder("HTTP", "Message"),
        Folder("HTTP", "Client", uses: ["Message"]),
        Folder("HTTP", "Server", uses: ["Message"]),
        Folder("Postgres", "Values"),
        Folder("Postgres", "Failures", uses: ["Values"]),
        Folder("Postgres", "Statements", uses: ["Values", "Failures"]),
        Folder("Postgres", "Wire", uses: ["Values", "Failures", "Statements"]),
        Folder("Postgres", "Pools", uses: ["Failures", "Statements", "Wire"]),
        Folder("Postgres", "Migrations", uses: ["Values", "Failures", "Statements", "Wire", "Pools"]),
        Folder("Belvo", "Failures"),
        Folder("Belvo", "Wire", uses: ["Failures"]),
        Folder("Belvo", "Values", uses: ["Failures", "Wire"]),
        Folder("Belvo", "Client", uses: ["Failures", "Wire", "Values"]),
        Folder("Belvo", "Calls", uses: ["Failures", "Wire", "Values", "Client"]),
        Folder("BelvoSandbox", "Values"),
        Folder("BelvoSandbox", "WebAuthn", uses: ["Values"]),
        Folder("BelvoSandbox", "Variants", uses: ["Values"]),
        Folder("BelvoSandbox", "Objects", uses: ["Values", "WebAuthn", "Variants"]),
        Folder("BelvoSandbox", "Requests", uses: ["Values", "Variants"]),
        Folder("BelvoSandbox", "Webhooks", uses: ["Values"]),
        Folder("BelvoSandbox", "Faults", uses: ["Requests"]),
        Folder(
            "BelvoSandbox", "State",
            uses: ["Values", "WebAuthn", "Variants", "Objects", "Requests", "Webhooks", "Faults"]),
        Folder("BelvoSandbox", "Bank", uses: ["Objects", "Requests", "State"]),
        Folder(
            "BelvoSandbox", "Endpoints",
            uses: ["Values", "WebAuthn", "Variants", "Objects", "Requests", "State", "Bank"]),
        Folder(
            "BelvoSandbox", "", uses: ["Variants", "Objects", "Requests", "Webhooks", "Faults", "State", "Bank"]),
        Folder("BelvoSandbox", "Control", uses: ["Variants", "Requests", "Faults", "Bank", ""]),
        Folder("BelvoSandbox", "Serving", uses: ["Requests", "Webhooks", "Faults", ""]),
        Folder("MerchantStore", "Vault"),
        Folder("MerchantStore", "Store", uses: ["Vault"]),
        Folder("MerchantStore", "Changes"),
        Folder("MerchantWorkflows", "Workflow"),
        Folder("MerchantWorkflows", "Customer", uses: ["Workflow"]),
        Folder("MerchantWorkflows", "Enrollment", uses: ["Workflow"]),
        Folder("MerchantWorkflows", "Payment", uses: ["Workflow", "Enrollment"]),
        Folder("MerchantWorkflows", "Webhook", uses: ["Workflow", "Enrollment", "Payment"]),
        Folder("MerchantWorkflows", "Work", uses: ["Workflow", "Customer", "Enrollment", "Payment", "Webhook"]),
        Folder("MerchantWorkflows", "Shop", uses: ["Work"]),
        Folder("MerchantWorkflows", "Reconciliation", uses: ["Workflow", "Payment"]),
        Folder("MerchantAPI", "Access"),
        Folder("MerchantAPI", "API", uses: ["Access"]),
        Folder("MerchantServer", "Log"),
        Folder("MerchantServer", "Settings"),
        Folder("MerchantServer", "Metrics", uses: ["Log"]),
        Folder("MerchantServer", "Operators", uses: ["Settings"]),
        Folder("MerchantServer", "", uses: ["Log", "Settings", "Metrics"]),
        Folder("MerchantServer", "Probe", uses: ["Operators", "Settings", ""]),
    ]

    /// The folder of a file, in whichever target; nil outside of `Sources`.
    static func name(of file: TextFile) -> String? {
        let parts = file.path.split(separator: "/")
        guard parts.count > 2, parts[0] == "Sources" else { return nil }
        return parts.count > 3 ? String(parts[2]) : ""
    }
}

/// One place where a file names something that another folder of its target declares.
struct FolderUse: Sendable {
    let folder: String
    let used: String
    let name: String
    let place: String

    /// Told by the names of what stands at the top level. Members that one folder adds to a type of another's are not
    /// seen: only the compiler knows whose they are.
    static func all(in files: [TextFile]) -> [FolderUse] {
        let owners = declarations(in: files)
        return files.flatMap { file -> [FolderUse] in
            let folder = Folder.name(of: file) ?? ""
            return SourceCode(file).names.compactMap { name, line in
                // A name that two folders have says nothing.
                guard let owner = owners[name], owner.count == 1, let used = owner.first, used != folder else {
                    return nil
                }
                return FolderUse(folder: folder, used: used, name: String(name), place: "\(file.path):\(line + 1)")
            }
        }
    }

    /// The folders that declare a name at the top level, for others to use.
    private static func declarations(in files: [TextFile]) -> [Substring: Set<String>] {
        var owners: [Substring: Set<String>] = [:]
        for file in files {
            for index in file.lines.indices where file.lines[index].first?.isWhitespace == false {
                guard let declaration = Declaration(file.lines, at: index), !declaration.isPrivate else { continue }
                owners[Substring(declaration.name), default: []].insert(Folder.name(of: file) ?? "")
            }
        }
        return owners
    }
}
