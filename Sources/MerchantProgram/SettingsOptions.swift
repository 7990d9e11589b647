import MerchantServer

extension SettingsOptions {
    /// The settings from the environment and the file, or the end of the program with every problem named.
    func settings() -> Settings {
        Failing.orExit { try Settings.load(file: file) }
    }
}
