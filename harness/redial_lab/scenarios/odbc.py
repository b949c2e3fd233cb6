"""Any SQL Server by an ODBC connection string: clients are threads, and waiting is waiting."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from typing import Any

from redial.config import Config
from redial.deploy import apply, connect_odbc
from redial.deploy.errors import server_message
from redial.server import Server
from redial_lab.scenarios.port import Answer, Client

MOMENT_SECONDS = 0.02
LOOK_SECONDS = 0.01


class OdbcClient:
    """A connection on a thread of its own. Raises pyodbc.Error when it cannot be made."""

    def __init__(self, server: Server) -> None:
        self._connection = server.connect()
        self.session = self._connection.execute("SELECT @@SPID;").fetchone()[0]
        self._batches: queue.Queue[str | None] = queue.Queue()
        self._done = threading.Event()
        self._done.set()
        self._answer = Answer([], [])
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def starts(self, sql: str) -> None:
        """Hand the batch to the thread."""
        self._done.clear()
        self._batches.put(sql)

    def finished(self) -> bool:
        """Whether the thread has nothing to do."""
        return self._done.is_set()

    def answer(self) -> Answer:
        """Of the last batch."""
        return self._answer

    def leaves(self) -> None:
        """Close; a batch that still waits for something is cancelled first."""
        if not self._done.is_set():
            self._current.cancel()
        self._batches.put(None)
        self._thread.join(30)

    def _work(self) -> None:
        while (sql := self._batches.get()) is not None:
            self._answer = self._run(sql)
            self._done.set()
        try:
            self._connection.close()
        except Exception:
            return  # the server has closed it before us

    def _run(self, sql: str) -> Answer:
        rows: list[tuple[Any, ...]] = []
        try:
            self._current: Any = self._connection.cursor()
            self._current.execute(sql)
            while True:
                if self._current.description is not None:
                    rows += [tuple(row) for row in self._current.fetchall()]
                if not self._current.nextset():
                    return Answer(rows, [])
        except Exception as error:
            number, text = server_message(error)
            return Answer(rows, [(number or 0, text)], broken=not self._alive())

    def _alive(self) -> bool:
        """Whether the connection still answers, once the failed batch's results are dropped."""
        try:
            self._current.close()
            return self._connection.execute("SELECT 1;").fetchone() is not None
        except Exception:
            return False


class OdbcPort:
    """A server, and the story's own database in it."""

    virtual = False

    def __init__(self, server: Server) -> None:
        self.server, self.label = server, server.label

    def install(self, config: Config, mutant: str | None) -> None:
        """As ``invoke deploy`` does it. Raises DeployError."""
        apply(config, connect_odbc(self.server.odbc), mutant=mutant)

    def client(self) -> OdbcClient:
        """A connection with its thread."""
        return OdbcClient(self.server)

    def settle(self, clients: Sequence[Client], seconds: float) -> None:
        """Wait until they have finished, or that long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not all(client.finished() for client in clients):
            time.sleep(LOOK_SECONDS)

    def moment(self) -> None:
        """Some milliseconds."""
        time.sleep(MOMENT_SECONDS)

    def now(self) -> float:
        """Real time."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Really."""
        self.server.wait(seconds)
