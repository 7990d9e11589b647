import FoundationEssentials
import MerchantStore
import Payments
import Synchronization

/// The enrollments that Belvo has shown to be usable, and when: within minutes they are not read again before a
/// payment.
///
/// Belvo refuses a payment from one that was taken back anyway; it is read then, so that the app gets the reason. What
/// is forgotten here, or was seen by another instance, costs one reading.
final class UsableEnrollments: Sendable {
    /// For how long a reading counts.
    static let lifetime = Duration.seconds(300)
    /// How many are known at most.
    static let countMax = 50_000

    /// When each was read, by Belvo's id.
    private let moments = Mutex<[UUID: Timestamp]>([:])

    /// - Parameter moment: before Belvo was asked, by the database's clock.
    func note(_ id: UUID, at moment: Timestamp) {
        moments.withLock { moments in
            if moments.count >= Self.countMax, moments[id] == nil {
                moments = moments.filter { moment - $0.value < Self.lifetime }
                if moments.count >= Self.countMax { moments = [:] }
            }
            moments[id] = moment
        }
    }

    func forget(_ id: UUID) {
        moments.withLock { _ = $0.removeValue(forKey: id) }
    }

    /// Whether Belvo has shown it to be usable within minutes, and no webhook has named it since.
    func isUsable(_ enrollment: PaymentSurvey.EnrollmentState, at now: Timestamp) -> Bool {
        guard let id = enrollment.belvoID, !enrollment.hasUnreadWebhook, let moment = moments.withLock({ $0[id] }),
            now - moment < Self.lifetime
        else { return false }
        return enrollment.lastWebhookAt.map { $0 < moment } ?? true
    }
}
