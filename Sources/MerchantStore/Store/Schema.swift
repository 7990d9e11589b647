import Migrations
import Postgres

extension [Postgres.Migration] {
    /// The migrations that this program was built with.
    package static var merchant: [Postgres.Migration] {
        migrations.map { Postgres.Migration(name: $0.name, text: $0.sql) }
    }
}

/// The database's schema is not the one that this program was built for.
package struct SchemaRefused: Error, CustomStringConvertible {
    let status: SchemaStatus

    package init(status: SchemaStatus) {
        self.status = status
    }

    package var description: String {
        switch status {
        case .upToDate: "the schema is up to date"
        case .pending(let names):
            "the database has yet to be migrated (\(names.joined(separator: ", "))): run `merchant migrate` first"
        case .ahead(let names):
            "the database was migrated by a newer program (\(names.joined(separator: ", "))): run that one"
        case .altered(let names):
            "migrations were changed after they had been applied: \(names.joined(separator: ", "))"
        }
    }
}
