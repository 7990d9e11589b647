import JSON

/// The state of a device, from which the bank judges the risk: the `risk_signals` object as Belvo's
/// SDK collects it on iOS (belvo-api.md §7).
public struct RiskSignals: Sendable {
    public var deviceID: String

    /// The day on which Belvo created the customer, `YYYY-MM-DD`.
    public var accountTenure: String

    public var elapsedSinceBoot: Duration = .seconds(266_400)
    public var isRooted = false
    public var language = "pt"
    public var osVersion = "18.6"
    public var userTimeZoneOffset = "-03:00"

    public init(deviceID: String, accountTenure: String) {
        self.deviceID = deviceID
        self.accountTenure = accountTenure
    }

    public var json: [UInt8] {
        JSONWriter.object {
            $0.member("deviceId", deviceID)
            $0.member("isRootedDevice", isRooted)
            $0.member("screenBrightness", 64)
            $0.member("elapsedTimeSinceBoot", Int64(elapsedSinceBoot / .milliseconds(1)))
            $0.member("osVersion", osVersion)
            $0.member("userTimeZoneOffset", userTimeZoneOffset)
            $0.member("language", language)
            $0.memberObject("screenDimensions") {
                $0.member("height", 2556)
                $0.member("width", 1179)
            }
            $0.member("accountTenure", accountTenure)
            $0.memberObject("geolocation") {
                $0.memberRaw("latitude", "-23.5614".utf8)
                $0.memberRaw("longitude", "-46.6559".utf8)
                $0.member("type", "COARSE")
            }
            $0.member("isCallInProgress", false)
            $0.member("isDevModeEnabled", false)
            $0.member("isMockGPS", false)
            $0.member("isEmulated", false)
            $0.member("isMonkeyRunner", false)
            $0.member("isCharging", true)
            $0.member("isUsbConnected", false)
            $0.memberObject("integrity") {
                $0.member("appRecognitionVerdict", "UNEVALUATED")
                $0.memberArray("deviceRecognitionVerdict") { $0.element("MEETS_DEVICE_INTEGRITY") }
            }
        }
    }
}

extension Phone {
    /// This device's signals as JSON, its customer known since the day given (`YYYY-MM-DD`).
    public func riskSignals(accountTenure: String) -> [UInt8] {
        RiskSignals(deviceID: deviceID, accountTenure: accountTenure).json
    }
}
