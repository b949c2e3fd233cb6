"""A server that can go away and come back at another port, and ``redial land --every`` beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import pyarrow.parquet as pq
import pyodbc

from redial.cli.configs import load_named
from redial.deploy import apply, connect_odbc
from redial.server import with_database
from redial_broker.tds.embedded import EmbeddedBroker, make_instance
from tests.broker.drivers.proxy import Proxy
from tests.waiting import HANGS

from .conftest import ROOT
from .lab import DATABASE, bare_python

LAND = """
INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, MessageType, Body)
VALUES (NEWID(), NEWID(), 0, N'//redial/audit/event', ?);"""
COMMAND = "from redial.cli.main import main; main()"


class Server:
    """An embedded broker whose instance outlives it, behind a wire whose address stays."""

    def __init__(self) -> None:
        self.instance = make_instance(5, "real", None)
        self.broker = EmbeddedBroker(instance=self.instance).start()
        self.wire = Proxy(self.broker.port)
        with pyodbc.connect(self.broker.odbc, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE};")
        apply(load_named("audit"), connect_odbc(with_database(self.broker.odbc, DATABASE)))

    @property
    def odbc(self) -> str:
        """Through the wire."""
        odbc = self.broker.odbc.replace(f",{self.broker.port}", f",{self.wire.port}")
        return with_database(odbc, DATABASE)

    def connect(self) -> pyodbc.Connection:
        """A session of the broker there is now, past the wire."""
        return pyodbc.connect(with_database(self.broker.odbc, DATABASE), autocommit=True)

    def write(self, *bodies: bytes) -> None:
        """Rows as they land, in one transaction."""
        with closing(self.connect()) as connection:
            connection.autocommit = False
            for body in bodies:
                connection.execute(LAND, body)
            connection.commit()

    def goes(self) -> None:
        """Every session ends, and nobody listens any more."""
        self.broker.stop()
        self.wire.cut()

    def cut_after(self, size: int) -> None:
        """It goes once so many bytes more have been answered."""
        left = [size]

        def answers(data: bytes, server: object, client: Any) -> None:
            left[0] -= len(data)
            if left[0] < 0:
                self.wire.answers = pass_on  # type: ignore[method-assign]
                self.goes()
                raise OSError("cut")
            client.sendall(data)

        pass_on = self.wire.answers
        self.wire.answers = answers  # type: ignore[method-assign]

    def comes_back(self) -> None:
        """With all it had committed, at another port."""
        self.broker = EmbeddedBroker(instance=self.instance).start()
        self.wire.target = self.broker.port


class Job:
    """``redial land --every 1`` and what its terminal shows."""

    def __init__(self, process: subprocess.Popen[str], lines: Queue[str], target: Path) -> None:
        self.process, self.lines, self.target = process, lines, target
        self.shown: list[str] = []

    def says(self, words: str) -> str:
        """The next line with these words. AssertionError when it ends, or hangs, without."""
        while True:
            try:
                self.shown.append(self.lines.get(timeout=HANGS))
            except Empty:
                raise AssertionError(f"no {words!r} in {self.shown}") from None
            assert self.shown[-1] != "", f"ended without {words!r}: {self.shown}"
            if words in self.shown[-1]:
                return self.shown[-1]

    def ends(self) -> int:
        """Interrupted; its exit status, with all it showed."""
        self.process.send_signal(signal.SIGINT)
        while (line := self.lines.get(timeout=HANGS)) != "":
            self.shown.append(line)
        return self.process.wait(HANGS)

    def landed(self) -> list[bytes]:
        """Bodies in its table."""
        return sorted(pq.read_table(self.target, columns=["body"])["body"].to_pylist())


@contextmanager
def server() -> Iterator[Server]:
    """One, with its wire."""
    one = Server()
    with one.wire:
        try:
            yield one
        finally:
            one.broker.stop()


@contextmanager
def landing(odbc: str, folder: Path, *more: str) -> Iterator[Job]:
    """A job that lands in ``folder``; killed at the end of the block if it runs still."""
    target = folder / "lake"
    command = [sys.executable, "-c", COMMAND, "land", "--every", "1", "--to", str(target)]
    with ExitStack() as ends:
        process = subprocess.Popen(
            [*command, *more],
            cwd=folder,
            env=os.environ | bare_python(folder) | {"PYTHONPATH": ROOT, "REDIAL_SERVER": odbc},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        ends.callback(process.wait)
        ends.callback(process.kill)
        lines: Queue[str] = Queue()
        Thread(target=_read, args=(process, lines.put), daemon=True).start()
        yield Job(process, lines, target)


def _read(process: subprocess.Popen[str], put: Callable[[str], None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        put(line)
    put("")
