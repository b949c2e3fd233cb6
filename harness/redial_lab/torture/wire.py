"""A small proxy between callers and server, whose connections can be cut at any moment."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy:
    """Listens on a free port of this machine and passes everything on. A client must not encrypt,
    or must trust whatever certificate it is shown."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, pick: int) -> bool:
        """Cut one of the connections; False when there is none."""
        with self._lock:
            if not self._pairs:
                return False
            pair = self._pairs.pop(pick % len(self._pairs))
        _close(pair)
        return True

    def close(self) -> None:
        """No connection any more, nor any new one."""
        _close((self._listener,))
        while self.cut(0):
            pass

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
            except OSError:
                return
            with self._lock:
                self._pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with self._lock:
            self._pairs = [pair for pair in self._pairs if source not in pair]
        _close((source, sink))


def _close(sockets: tuple[socket.socket, ...]) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            one.close()
