import CLibpq
import Transport

/// A connection string that libpq does not understand, or that asks for what is not offered here.
///
/// Never quotes it: there may be a password in it.
public struct ConnectionStringFault: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
}

/// Where to connect and how: a parsed connection string.
struct ConnectionTarget: Sendable {
    /// One of the hosts to try.
    struct Host: Sendable {
        /// A name, an address, a directory with a socket, or nothing for libpq's own default.
        let name: String?
        let address: String?
        let port: String

        var isLocal: Bool { name.map { $0.hasPrefix("/") || $0.hasPrefix("@") } ?? true }
        var label: String { "\(name ?? address ?? "local"):\(port)" }
    }

    let hosts: [Host]
    /// Everything but where to connect.
    let options: [String: String]
    let connectTimeout: Duration?

    init(parsing text: String) throws(ConnectionStringFault) {
        var given = try Self.read(text)
        let defaults = Self.defaults()
        if given["service"] != nil || defaults["service"] != nil {
            throw ConnectionStringFault(description: "a connection service file is not supported")
        }
        hosts = try Self.hosts(
            names: given["host"] ?? (given["hostaddr"] == nil ? defaults["host"] : nil),
            addresses: given["hostaddr"] ?? (given["host"] == nil ? defaults["hostaddr"] : nil),
            ports: given["port"] ?? defaults["port"] ?? "5432")
        let timeout = given["connect_timeout"] ?? defaults["connect_timeout"] ?? "0"
        guard let seconds = Int(timeout), (0...3600).contains(seconds) else {
            throw ConnectionStringFault(description: "connect_timeout is not a number of seconds")
        }
        connectTimeout = seconds == 0 ? nil : .seconds(seconds)
        let wanted = given["target_session_attrs"] ?? defaults["target_session_attrs"]
        // libpq would try all hosts twice for it; here each host is tried on its own.
        if wanted == "prefer-standby" {
            throw ConnectionStringFault(description: "target_session_attrs=prefer-standby is not supported")
        }
        // "any" is what libpq assumes when nothing is said; said in the connection string itself, it holds.
        if hosts.count > 1, given["target_session_attrs"] == nil, wanted == nil || wanted == "any" {
            given["target_session_attrs"] = "read-write"
        }
        for keyword in ["host", "hostaddr", "port", "connect_timeout"] { given[keyword] = nil }
        options = given
    }

    /// Wraps `PQconninfoParse`. Its message is dropped: it may quote the password.
    private static func read(_ text: String) throws(ConnectionStringFault) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        let list = PQconninfoParse(text, &message)
        PQfreemem(message)
        guard let list else {
            throw ConnectionStringFault(description: "the connection string cannot be read")
        }
        defer { PQconninfoFree(list) }
        return values(of: list)
    }

    /// The defaults of the environment and of libpq for what the connection string leaves out. Wraps `PQconndefaults`.
    private static func defaults() -> [String: String] {
        guard let list = PQconndefaults() else { return [:] }
        defer { PQconninfoFree(list) }
        return values(of: list)
    }

    private static func values(of list: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
        var values: [String: String] = [:]
        var option = list
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val, value.pointee != 0 {
                values[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        return values
    }

    /// Lists of the same length, or one port for all (libpq documentation, "Specifying Multiple Hosts").
    private static func hosts(
        names: String?, addresses: String?, ports: String
    ) throws(ConnectionStringFault) -> [Host] {
        let names = names.map(parts) ?? []
        let addresses = addresses.map(parts) ?? []
        let ports = parts(ports)
        let count = max(names.count, addresses.count, 1)
        guard names.isEmpty || names.count == count, addresses.isEmpty || addresses.count == count,
            ports.count == 1 || ports.count == count
        else { throw ConnectionStringFault(description: "the lists of hosts, addresses and ports differ in length") }
        var hosts: [Host] = []
        for index in 0..<count {
            let port = ports[ports.count == 1 ? 0 : index] ?? "5432"
            guard let number = UInt16(port), number > 0 else {
                throw ConnectionStringFault(description: "a port is not a number from 1 to 65535")
            }
            hosts.append(
                Host(
                    name: names.isEmpty ? nil : names[index], address: addresses.isEmpty ? nil : addresses[index],
                    port: port))
        }
        return hosts
    }

    /// An empty part means the default.
    private static func parts(_ list: String) -> [String?] {
        list.split(separator: ",", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
    }
}
