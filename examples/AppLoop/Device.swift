import Foundation

/// What the loop asks of the app and of the phone that it runs on.
///
/// Options and answers are JSON texts: the server's are handed on as they are, and the phone's are sent as they are.
/// What throws leaves the pending request in the notebook, so that the user can be asked again.
public protocol Device: Sendable {
    /// Opens the bank's page, in the bank's app where it is installed (`UIApplication.open`).
    ///
    /// Returns nil as soon as the page is open: by default the bank sends the user to the merchant's server, and the
    /// loop sees by itself what comes of it. An app that names a `callback_url` of its own returns the whole address
    /// that the bank opened it with instead (a universal link, or an `ASWebAuthenticationSession`).
    func openBank(_ page: URL) async throws -> URL?

    /// Makes a credential as the `fido_registration_options` ask, and returns the `confirmation_data`:
    /// `{authenticatorAttachment: "platform", type: "public-key", id, rawId, response: {attestationObject,
    /// clientDataJSON}}`.
    ///
    /// On a phone this is Belvo's SDK: `startRegistration(fidoResponseString: options, callback:)`, whose answer's
    /// `encodedId` is `id` and `rawId`, `encodedAttestationObject` and `encodedClientDataJSON` the rest. The relying
    /// party is `belvo.com`, so the app needs the entitlement `webcredentials:belvo.com` and Belvo its team and bundle
    /// id. Whoever calls AuthenticationServices directly encodes the bytes of
    /// `ASAuthorizationPlatformPublicKeyCredentialRegistration` as base64url without padding, and clears with Belvo
    /// first whether the banks take such a credential: it is a passkey, and theirs are bound to one device.
    func register(_ options: String) async throws -> String

    /// Signs a payment's `fido_options`, and returns the `assertion`: as above with
    /// `response: {authenticatorData, clientDataJSON, signature, userHandle}`.
    ///
    /// With Belvo's SDK: `startSigning(fidoResponseString: options, fallbackCredential: nil, callback:)`. The
    /// `userHandle` is empty when the authenticator gave none; it is never left out.
    func sign(_ options: String) async throws -> String

    /// What the phone says about itself now, with the customer's `account_tenure`.
    ///
    /// With Belvo's SDK: `collectRiskSignals(accountTenure:).toJsonString()`. Ask for `requestPermission` before the
    /// first time.
    func riskSignals() async throws -> String

    /// Tells the user why it ended without success and what can be done, for instance with the reason's `text`.
    func tell(_ reason: RetryReason) async
}
