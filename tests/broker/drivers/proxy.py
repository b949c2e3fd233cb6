"""A wire that can be cut: passes bytes on to the broker until told to drop every connection."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class Proxy:
    """Listens on ``port`` of the loopback address and passes every connection on.

    target: the broker's port; another one may take its place. first: the first byte of the latest
    client, 0x16 where it starts with TLS.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self.first = b""

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """Drop every connection on both sides."""
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.target))
                except OSError:  # nobody is there, for now
                    client.close()
                    continue
                self._sockets += [client, server]
                self.first = client.recv(1, socket.MSG_PEEK)
                for way in ((client, server, self.asks), (server, client, self.answers)):
                    threading.Thread(target=_pump, args=way, daemon=True).start()

    def asks(self, data: bytes, client: socket.socket, server: socket.socket) -> None:
        """Pass on what a client says."""
        server.sendall(data)

    def answers(self, data: bytes, server: socket.socket, client: socket.socket) -> None:
        """Pass on what the broker says."""
        client.sendall(data)


def _pump(source: socket.socket, target: socket.socket, passes: Callable[..., None]) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            passes(data, source, target)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
