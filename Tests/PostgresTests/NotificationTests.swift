import Postgres
import TestSupport
import Testing
import Transport

@Suite struct NotificationTests {
    @Test func `notifications arrive in order, also after the connection was lost`() async throws {
        try await TestDatabase.open { database in
            let loop = try #require(EventLoop.current)
            let heard = LoopBound(Heard(), on: loop)
            let channels = ["payments", "Odd \"name\"; --"]
            let listening = loop.task {
                try await Notifications(of: database, channels: channels).run { heard.value.events.append($0) }
            }
            try await waitUntil { heard.value.events == [.listening] }
            let first = Notification(channel: "payments", payload: "a")
            let second = Notification(channel: channels[1], payload: "ação")
            try await database.notify([first, second])
            try await database.notify([Notification(channel: "others", payload: "unheard")])
            try await database.notify([])
            try await waitUntil { heard.value.events.count == 3 }
            try await database.execute(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'LISTEN%'
                """)
            try await waitUntil { heard.value.events.count == 4 }
            let third = Notification(channel: "payments", payload: "")
            try await database.notify([third])
            try await waitUntil { heard.value.events.count == 5 }
            #expect(
                heard.value.events
                    == [.listening, .received(first), .received(second), .listening, .received(third)])
            listening.cancel()
            await #expect(throws: CancellationError.self) { try await listening.value }
            let left = try await database.rows(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'")
            #expect(left.count <= 1)
        }
    }

    @Test func `while nobody else listens nothing is sent and nothing is committed`() async throws {
        try await TestDatabase.open { database in
            let loop = try #require(EventLoop.current)
            let (own, other) = (ListenerMark(-7), ListenerMark(8))
            let heard = LoopBound([Heard(), Heard()], on: loop)
            let listening = [own, other].enumerated().map { place, mark in
                {
                    loop.task {
                        try await Notifications(of: database, channels: ["payments"], mark: mark).run {
                            heard.value[place].events.append($0)
                        }
                    }
                }
            }
            let first = listening[0]()
            try await waitUntil { heard.value[0].events == [.listening] }
            func lastCommit() async throws -> String {
                try #require(
                    await database.rows("SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id").first
                ).decode("id")
            }
            let before = try await lastCommit()
            try await database.notify([Notification(channel: "payments", payload: "unheard")], besides: own)
            #expect(try await lastCommit() == before)
            let second = listening[1]()
            try await waitUntil { heard.value[1].events == [.listening] }
            let told = Notification(channel: "payments", payload: "a")
            try await database.notify([told], besides: own)
            try await waitUntil { heard.value.allSatisfy { $0.events.count == 2 } }
            #expect(heard.value.map(\.events) == [[.listening, .received(told)], [.listening, .received(told)]])
            // Other channels have no listener.
            let last = try await lastCommit()
            try await database.notify([Notification(channel: "others", payload: "unheard")], besides: own)
            #expect(try await lastCommit() == last)
            first.cancel()
            second.cancel()
            _ = await (first.result, second.result)
        }
    }

    private final class Heard {
        var events: [Notifications.Event] = []
    }
}
