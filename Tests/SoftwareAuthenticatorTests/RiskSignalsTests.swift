import JSON
import SoftwareAuthenticator
import Testing

struct RiskSignalsTests {
    @Test func `an iPhone tells what Belvo's SDK would, each in its kind`() throws {
        let signals = try JSONDocument(parsing: Phone().riskSignals(accountTenure: "2026-11-21")).root
        // Keys and kinds of belvo-api.md §7.
        let kinds: KeyValuePairs<String, JSONValue.Kind> = [
            "deviceId": .string, "isRootedDevice": .bool, "screenBrightness": .number,
            "elapsedTimeSinceBoot": .number, "osVersion": .string, "userTimeZoneOffset": .string,
            "language": .string, "screenDimensions": .object, "accountTenure": .string, "geolocation": .object,
            "isCallInProgress": .bool, "isDevModeEnabled": .bool, "isMockGPS": .bool, "isEmulated": .bool,
            "isMonkeyRunner": .bool, "isCharging": .bool, "isUsbConnected": .bool, "integrity": .object,
        ]
        for (name, kind) in kinds { #expect(signals[name]?.kind == kind, "\(name)") }
        #expect(signals.members.map(\.name) == kinds.map(\.key))
        #expect(signals["accountTenure"]?.string == "2026-11-21")
        #expect(signals["elapsedTimeSinceBoot"]?.int64 == 266_400_000)
    }

    @Test func `a phone is one device for ever, and no other phone is that device`() throws {
        let phone = Phone()
        let restored = try Phone(json: try phone.json())
        #expect(restored.riskSignals(accountTenure: "2026-11-21") == phone.riskSignals(accountTenure: "2026-11-21"))
        #expect(phone.deviceID.utf8.count == 64)
        #expect(Phone().deviceID != phone.deviceID)
    }
}
