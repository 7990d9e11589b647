"""A wire between the server and its Belvo that can be torn: bytes pass as they are, until all connections are reset."""

import socket
import struct
import threading

from .site import free_port


class Wire:
    """Listens on a port of its own and passes everything on, both ways."""

    def __init__(self, host: str, port: int, near: int) -> None:
        self.port = free_port(near)
        self._target = (host, port)
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        threading.Thread(target=self._accept, daemon=True).start()

    def tear(self) -> None:
        """Resets every connection, so that neither side reads what is on its way (SO_LINGER of no time)."""
        with self._lock:
            ends, self._ends = self._ends, set()
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # A thread that is blocked in recv keeps the descriptor open: shutdown wakes it, and close resets.
            try:
                end.shutdown(socket.SHUT_RD)
            except OSError:
                pass
            end.close()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._ends |= {client, server}
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
