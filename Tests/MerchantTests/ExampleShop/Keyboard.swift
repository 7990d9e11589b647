import JSON
import Testing

/// The keys of a visitor who has no mouse.
struct Keyboard: Sendable {
    private let tab: Tab

    enum Key: String {
        case tab = "Tab"
        case enter = "Enter"
        case space = " "
        case down = "ArrowDown"
        case up = "ArrowUp"
        case escape = "Escape"

        fileprivate var code: Int {
            switch self {
            case .tab: 9
            case .enter: 13
            case .space: 32
            case .down: 40
            case .up: 38
            case .escape: 27
            }
        }

        /// The text that the key writes, if any.
        fileprivate var text: String? { self == .enter ? "\r" : self == .space ? " " : nil }
    }

    /// Where the focus is.
    struct Stop: Sendable {
        /// Its id, or its kind with a number of its own; empty where it is nowhere.
        let selector: String
        /// The faults that a sighted user would notice: no frame around it, or out of view.
        let faults: [String]
        /// Its place in the document.
        let place: Int64
    }

    init(_ tab: Tab) {
        self.tab = tab
    }

    func press(_ key: Key) async throws {
        for type in ["keyDown", "keyUp"] {
            try await tab.call("Input.dispatchKeyEvent") {
                $0.member("type", type)
                $0.member("key", key.rawValue)
                $0.member("code", key == .space ? "Space" : key.rawValue)
                $0.member("windowsVirtualKeyCode", key.code)
                if let text = key.text, type == "keyDown" { $0.member("text", text) }
            }
        }
    }

    func write(_ text: String) async throws {
        try await tab.call("Input.insertText") { $0.member("text", text) }
    }

    /// Presses Tab until the focus is on the first element of a selector.
    func go(to selector: String, within limit: Int = 60) async throws {
        for _ in 0..<limit {
            try await press(.tab)
            let faults = try await stop().faults
            #expect(faults == [], "on the way to \(selector)")
            if try await tab.value("document.activeElement === document.querySelector('\(selector)')").bool == true {
                return
            }
        }
        Issue.record("Tab does not lead to \(selector) in \(limit) steps; the focus is at \(try await stop().selector)")
    }

    /// Walks all the way round by Tab, and expects that it leads to all that can be used, in the order in which it
    /// stands there, with the focus in sight at each step. Gives the stops.
    @discardableResult
    func expectEveryStop(
        within container: String = "body", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        var stops: [Stop] = []
        // From the last stop the way leads on through the browser's own controls.
        while stops.count < 300 {
            try await press(.tab)
            let stop = try await stop(within: container)
            if let first = stops.first, first.selector == stop.selector { break }
            if !stop.selector.isEmpty { stops.append(stop) }
        }
        let faults = stops.flatMap(\.faults)
        #expect(faults == [], sourceLocation: sourceLocation)
        let places = stops.map(\.place)
        let turns = zip(places, places.dropFirst()).count { $0 > $1 }
        #expect(turns <= 1, "the order is that of the page: \(stops.map(\.selector))", sourceLocation: sourceLocation)
        let reached = stops.map(\.selector)
        let usable = try await tab.value("(\(Self.script)).usable('\(container)')").elements.compactMap(\.string)
        #expect(!usable.isEmpty, sourceLocation: sourceLocation)
        #expect(Set(usable).subtracting(reached) == [], sourceLocation: sourceLocation)
        return reached
    }

    func stop(within container: String = "body") async throws -> Stop {
        let stop = try await tab.value("(\(Self.script)).stop('\(container)')")
        return Stop(
            selector: stop["selector"]?.string ?? "", faults: stop["faults"]?.elements.compactMap(\.string) ?? [],
            place: stop["place"]?.int64 ?? -1)
    }

    private static let script = """
        (() => {
          const all = () => [...document.querySelectorAll("body *")];
          const numbers = window.numbersOfStops ??= new Map();
          const number = e => numbers.get(e) ?? numbers.set(e, numbers.size).get(e);
          // Of the lines of what happens the newest is the stop, whichever that is.
          const name = e => e.matches("#timeline summary") ? "#timeline summary"
            : e.id ? `#${e.id}` : `${e.tagName.toLowerCase()}:${number(e)}`;
          return {
            stop(container) {
              const e = document.activeElement;
              if (!e || e === document.body) return {selector: "", faults: [], place: -1};
              const faults = [];
              if (!document.querySelector(container).contains(e)) faults.push(`outside: ${name(e)}`);
              const style = getComputedStyle(e);
              // "auto" is the browser's own frame, whose width it chooses.
              const isFramed = style.outlineStyle === "auto"
                || style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
              if (e.tabIndex >= 0 && !isFramed) faults.push(`no frame: ${name(e)}`);
              const {top, bottom, left, right, width, height} = e.getBoundingClientRect();
              const isInSight = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth && width && height;
              if (!isInSight) faults.push(`out of sight: ${name(e)}`);
              const [x, y] = [(Math.max(left, 0) + Math.min(right, innerWidth)) / 2,
                (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2];
              const over = document.elementFromPoint(x, y);
              if (isInSight && over && !e.contains(over) && !over.contains(e)) {
                faults.push(`behind ${name(over)}: ${name(e)}`);
              }
              return {selector: name(e), faults, place: all().indexOf(e)};
            },
            usable(container) {
              const found = document.querySelector(container)
                .querySelectorAll("a[href], button:enabled, input:enabled, summary, [tabindex='0']");
              // Of radio buttons the chosen one stands for all, and one line of a list for those that arrows lead to.
              const isStop = e => e.checkVisibility() && e.tabIndex >= 0 && (e.type !== "radio" || e.checked);
              return [...found].filter(isStop).map(name);
            },
          };
        })()
        """
}
