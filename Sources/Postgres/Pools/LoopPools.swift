import Transport

/// The connections that one loop keeps for one database. Touched on its loop's thread only.
final class Lanes {
    let read: Lane
    let write: Lane
    let notify: Lane

    init(of database: Database, on loop: EventLoop) {
        let opener = database.opener
        let configuration = opener.configuration
        read = Lane(.read, connectionsMax: configuration.readConnectionsMax, opener: opener, loop: loop)
        write = Lane(.write, connectionsMax: configuration.writeConnectionsMax, opener: opener, loop: loop)
        notify = Lane(.notify, connectionsMax: 1, opener: opener, loop: loop)
    }

    func close() async {
        await read.close()
        await write.close()
        await notify.close()
    }
}
