import HTTP
import JSON

/// The list of what Belvo has of a day.
public struct DayList<Item> {
    public internal(set) var items: [Item] = []
    /// Why each entry that could not be read was not, and how many the list counts and does not show.
    public internal(set) var unreadable: [String] = []
}

extension DayList: Sendable where Item: Sendable {}

/// Lists that come in pages (belvo-api.md §1).
extension Client {
    /// Reads a list to its end: every page of an envelope, or a bare array, which is whole by itself
    /// (belvo-api.md §11, line 10).
    ///
    /// All pages share the time of one call, unless `isDay`: a whole day's list has as many pages as it has, each with
    /// the time of a call. A list that does not end is nonsense rather than a shorter list, because from a list
    /// a caller may conclude that something is absent.
    func list<Item>(
        _ call: Call,
        _ first: Request,
        isDay: Bool = false,
        reading read: (JSONValue) throws(MalformedAnswer) -> Item
    ) async throws(BelvoError) -> [Item] {
        try await countedList(call, first, isDay: isDay, reading: read).items
    }

    /// The list to its end, and how many entries its last page says that there are; see `list`.
    private func countedList<Item>(
        _ call: Call,
        _ first: Request,
        isDay: Bool,
        reading read: (JSONValue) throws(MalformedAnswer) -> Item
    ) async throws(BelvoError) -> (items: [Item], count: Int?) {
        let elapsed = stopwatch(clock)
        var items: [Item] = []
        var request = first
        let pagesMax = isDay ? configuration.dayPagesMax : configuration.pagesMax
        let itemsMax = isDay ? pagesMax * configuration.dayPageSize : configuration.itemsMax
        for _ in 0..<pagesMax {
            let remaining = configuration.timeout - (isDay ? .zero : elapsed())
            guard remaining > .zero else { throw BelvoError(.timedOut, to: call) }
            let response = try await exchange(call, request, within: remaining)
            let (next, count) = try judge(call) { () throws(MalformedAnswer) -> (String?, Int?) in
                let page = try Page(root(response))
                for item in page.items {
                    guard items.count < itemsMax else { throw MalformedAnswer(reason: "the list is too long") }
                    try items.append(read(item))
                }
                return (page.next, page.count)
            }
            guard let next else { return (items, count) }
            request.target = try judge(call) { () throws(MalformedAnswer) in try follow(next, from: request.target) }
        }
        throw BelvoError(.unusable(reason: "the list has more than \(pagesMax) pages"), to: call)
    }

    /// Reads a day's list to its end. An entry that cannot be read is reported beside the others, so that one client's
    /// entry does not keep the day from being compared; so are entries that are counted and not shown.
    func dayList<Item>(
        _ call: Call, _ first: Request, reading read: (JSONValue) throws(MalformedAnswer) -> Item
    ) async throws(BelvoError) -> DayList<Item> {
        let (entries, count) = try await countedList(call, first, isDay: true) {
            (item) throws(MalformedAnswer) -> Result<Item, MalformedAnswer> in
            do throws(MalformedAnswer) { return .success(try read(item)) } catch { return .failure(error) }
        }
        var found = DayList<Item>()
        for entry in entries {
            switch entry {
            case .success(let item): found.items.append(item)
            case .failure(let error): found.unreadable.append(error.reason)
            }
        }
        if let count, count > entries.count {
            found.unreadable.append("the list counts \(count) entries and shows \(entries.count)")
        }
        return found
    }

    /// Reads as much of a list as there is within so many pages and the time of one call: what it shows is so, and what
    /// it does not show may be all the same. A page after the first that cannot be had ends it, and an entry that
    /// cannot be read is left out.
    func glimpse<Item>(
        _ call: Call, _ first: Request, pagesMax: Int, reading read: (JSONValue) throws(MalformedAnswer) -> Item
    ) async throws(BelvoError) -> [Item] {
        let elapsed = stopwatch(clock)
        // So many pages bound what is kept, whatever a page holds.
        let itemsMax = pagesMax * configuration.glimpsePageSize
        var items: [Item] = []
        var request = first
        for number in 0..<pagesMax {
            do throws(BelvoError) {
                let remaining = configuration.timeout - elapsed()
                guard remaining > .zero else { throw BelvoError(.timedOut, to: call) }
                let response = try await exchange(call, request, within: remaining)
                let next = try judge(call) { () throws(MalformedAnswer) -> String? in
                    let page = try Page(root(response))
                    for item in page.items {
                        if items.count < itemsMax, let item = try? read(item) { items.append(item) }
                    }
                    return page.next
                }
                guard let next, items.count < itemsMax else { return items }
                request.target = try judge(call) { () throws(MalformedAnswer) in
                    try follow(next, from: request.target)
                }
            } catch {
                guard number > 0 else { throw error }
                return items
            }
        }
        return items
    }

    /// Where the next page is, if that is a place to which our credentials may be sent: the same path of the
    /// same origin. Anything else that a hostile answer names is never requested.
    private func follow(_ next: String, from current: Target) throws(MalformedAnswer) -> Target {
        guard let url = URL(next) else { throw MalformedAnswer(reason: "next is no address") }
        guard url.origin == configuration.origin else { throw MalformedAnswer(reason: "next is on another origin") }
        guard url.target.path == current.path else { throw MalformedAnswer(reason: "next is another list") }
        guard url.target != current else { throw MalformedAnswer(reason: "next is the same page") }
        return url.target
    }
}

/// One page of a list.
private struct Page {
    let items: JSONElements
    let next: String?
    /// How many entries the whole list has; nil where it does not say.
    let count: Int?

    init(_ root: JSONValue) throws(MalformedAnswer) {
        if root.kind == .array {
            items = root.elements
            (next, count) = (nil, nil)
            return
        }
        let envelope = try Answer(root)
        guard let results = root["results"], results.kind == .array else { throw envelope.wrong("results", "no list") }
        items = results.elements
        next = try envelope.exact("next", bytesMax: 8192)
        count = root["count"]?.numberText.flatMap { Int($0) }
    }
}

/// The time since now by a clock of any kind.
private func stopwatch(_ clock: any Clock<Duration>) -> () -> Duration {
    func start<C: Clock<Duration>>(_ clock: C) -> () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
    return start(clock)
}
