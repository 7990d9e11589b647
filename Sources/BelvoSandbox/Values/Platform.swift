/// The platform of a device, as Belvo writes it.
enum Platform: String, CaseIterable {
    case ios = "IOS"
    case android = "ANDROID"
    case browser = "BROWSER"
    case crossPlatform = "CROSS_PLATFORM"
}
