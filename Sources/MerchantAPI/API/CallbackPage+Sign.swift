extension CallbackPage {
    /// The drawing above the heading, which says the same as the heading: screen readers pass over it.
    enum Sign {
        static func svg(_ state: State) -> String {
            """
            <svg class="sign" viewBox="0 0 24 24" aria-hidden="true" focusable="false">\(shape(state))</svg>
            """
        }

        /// The icon that browsers show beside the title, so that they ask the server for no other one.
        static let icon =
            "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E"
            + "%3Ccircle cx='12' cy='12' r='12' fill='%230a5f4e'/%3E%3Cpath d='M7 12.5l3.4 3.4L17 9' fill='none' "
            + "stroke='%23fff' stroke-width='2.2' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E"

        private static func shape(_ state: State) -> String {
            switch state {
            case .collecting, .working, .unavailable:
                #"<circle class="track" cx="12" cy="12" r="8"/><path class="turns" d="M12 4a8 8 0 0 1 8 8"/>"#
            case .approved, .succeeded: #"<path d="M5.5 12.5l4.3 4.3L18.5 8"/>"#
            case .failed: #"<path d="M7.5 7.5l9 9M16.5 7.5l-9 9"/>"#
            case .used: #"<path d="M5 12a7 7 0 1 0 2.2-5.1M7 3.5v3.6h3.6M12 8.5V12l2.5 1.8"/>"#
            case .unreadable: #"<path d="M12 6.5v6.7M12 17.3v.01"/>"#
            case .expired: #"<circle cx="12" cy="12" r="7.5"/><path d="M12 7.5V12l3 2"/>"#
            }
        }
    }
}
