"""How often a command waits for the server, counted on the wire: what a slow line costs."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from redial.cli.deploy import deploy, plan, verify
from redial.deploy import connect_odbc

from .conftest import Site, run, status_of

pytestmark = pytest.mark.driver
LATENCY_MS = 30
AT_MOST = 5
"""Round trips of a deployment without a change (issue 18)."""


class _Turns:
    """The count of one connection, a place in the list as long as nobody clears it."""

    def __init__(self, all_of_them: list[int]) -> None:
        self.all, self.place = all_of_them, len(all_of_them)
        self.all.append(0)

    def more(self) -> None:
        if self.place < len(self.all):
            self.all[self.place] += 1


class Line:
    """A port before a server's that counts how often the direction turns from question to answer."""

    def __init__(self, host: str, port: int) -> None:
        self.far = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.turns: list[int] = []
        """Round trips of each connection."""
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(self.far)
            state = {"asking": False}
            turns = _Turns(self.turns)
            for source, sink, asks in ((near, far, True), (far, near, False)):
                threading.Thread(
                    target=self._pump, args=(source, sink, asks, state, turns), daemon=True
                ).start()

    def _pump(
        self,
        source: socket.socket,
        sink: socket.socket,
        asks: bool,
        state: dict[str, bool],
        turns: _Turns,
    ) -> None:
        with closing(source), closing(sink):
            try:
                while data := source.recv(65536):
                    if asks:
                        state["asking"] = True
                    elif state["asking"]:
                        state["asking"] = False
                        turns.more()
                    sink.sendall(data)
            except OSError:
                return


@contextmanager
def line_to(site: Site) -> Iterator[tuple[Line, str]]:
    """The line, and the connection string that leads over it."""
    found = re.search(r"Server=([^,;]+),(\d+)", site.server)
    assert found is not None
    line = Line(found[1], int(found[2]))
    try:
        yield line, site.server.replace(found[0], f"Server=127.0.0.1,{line.port}")
    finally:
        line.listener.close()


def login_turns(line: Line, server: str) -> int:
    """What a login alone costs: handshakes of TLS and of the protocol, none of them ours.

    The driver asks more the first time; what the second one costs, each later one does.
    """
    for _ in range(2):
        with closing(connect_odbc(server)()):
            pass
    before = line.turns[-1]
    line.turns.clear()
    return before


def test_a_deployment_without_a_change_asks_four_times(site, capsys):
    with line_to(site) as (line, server):
        login = login_turns(line, server)
        assert status_of(deploy, server=server) == 0
        assert len(line.turns) == 1, "one connection"
        asked = line.turns[0] - login
    assert "nothing to do" in capsys.readouterr().out
    assert asked == 4 <= AT_MOST
    with capsys.disabled():
        print(
            f"\na deployment without a change: {asked} round trips behind the login's {login}, "
            f"{asked * LATENCY_MS} ms at {LATENCY_MS} ms each"
        )


def test_a_plan_and_a_verification_ask_no_more(site):
    with line_to(site) as (line, server):
        login = login_turns(line, server)
        assert status_of(plan, server=server) == 0
        assert status_of(verify, server=server) == 0
        assert [turns - login for turns in line.turns] == [4, 3]


def test_a_plan_of_changes_asks_once_more(site):
    """The files' own check."""
    run(site.server, "DROP VIEW audit.vw_Errors;")
    with line_to(site) as (line, server):
        login = login_turns(line, server)
        assert status_of(plan, server=server) == 2
        assert sum(line.turns) - login <= AT_MOST
