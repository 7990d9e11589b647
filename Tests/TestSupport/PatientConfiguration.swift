import Postgres

extension DatabaseConfiguration {
    /// For tests that are not about time: no machine is so busy that these limits would matter.
    public static var patient: DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.connectTimeout = .seconds(20)
        configuration.waitMax = .seconds(30)
        configuration.statementDeadline = .seconds(60)
        configuration.statementTimeout = .seconds(50)
        configuration.lockTimeout = .seconds(40)
        configuration.idleInTransactionTimeout = .seconds(50)
        return configuration
    }
}
