"""Connections that die: the whole of a deployment, its own statements included, cut off at any of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from redial.cli.installing import Allowed, install
from redial.config import Config
from redial.deploy import survey, uninstall
from redial.deploy.history import REMOVING, Story
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from tests.installed import rendered
from tests.product.sql import catalog
from tests.product.sql.bare import Bare
from tests.product.sql.lab import Client

from .inside import Connection, Cursor, written

ROWS = 1_000_000
"""May be lost."""


class Killed(BaseException):
    """The client's process is gone: nothing after it runs, nothing is written down."""


class Place:
    """A database with virtual time, and how many statements are left until the client is killed."""

    def __init__(self, bare: Bare | None = None) -> None:
        self.bare = bare or Bare()
        self.left: int | None = None
        self.ran = 0

    @property
    def instance(self) -> Any:
        return self.bare.instance

    def connect(self) -> Dying:
        return Dying(self)

    def catalog(self) -> catalog.Snapshot:
        return catalog.snapshot(self.rows)

    def rows(self, sql: str) -> list[tuple]:
        connection = Connection(self.instance, "lab")
        try:
            return connection.cursor().execute(sql).fetchall()
        finally:
            connection.close()

    def moment(self) -> Callable[[], None]:
        """Back to how it is now."""
        snapshot = self.instance.snapshot()

        def back() -> None:
            snapshot.restore()
            self.bare.sa = Client(self.bare)

        return back

    def run(self, what: Callable[[], Any], after: int | None = None) -> bool:
        """Do something, killed after so many statements. False when it ended before."""
        self.left, self.ran = after, 0
        usual, self.instance.quantum = self.instance.quantum, 1
        try:
            with unprobed(self.instance.server), redirect_stdout(io.StringIO()):
                what()
            return False
        except Killed:
            return True
        finally:
            self.left = None
            self.instance.quantum = usual
            self.bare.settle()

    def deploys(self, config: Config, what: str = "deploy") -> Callable[[], int]:
        """As the commands deploy and rollback do it; an attempt that is blocked fails."""

        def work() -> int:
            files = rendered(config)
            connection = self.connect()
            seen = survey(config, connection, files)
            connection.close()
            assert not seen.plan.blocked, seen.plan.blocked
            if not seen.plan.status:
                return 0
            return install(config, self.connect, files, seen, what, Allowed(wait_seconds=60))

        return work

    def removes(self, config: Config) -> Callable[[], Any]:
        """As the command uninstall does it, with the data."""
        story = Story(REMOVING, "")
        return lambda: uninstall(config, self.connect, True, purge_rows=ROWS, story=story)


class Dying(Connection):
    """A connection of a client that may be killed."""

    def __init__(self, place: Place) -> None:
        self.place = place
        super().__init__(place.instance, "lab")

    def cursor(self) -> DyingCursor:
        return DyingCursor(self)

    def close(self) -> None:
        if self.session.id in self.place.instance.sessions:
            super().close()


class DyingCursor(Cursor):
    connection: Dying

    def execute(self, sql: str, *parameters: Any) -> Cursor:
        for value in parameters:
            sql = sql.replace("?", written(value), 1)
        place, session = self.connection.place, self.connection.session
        out = session.sink = Collector()
        session.submit(Batch(sql))
        while not out.finished:
            if place.left == 0:
                place.instance.kill(session.id)
                raise Killed
            if place.left is not None:
                place.left -= 1
            place.ran += 1
            if not place.instance.pump(1) and not out.finished:
                place.instance.clock.advance(0.5)
        errors = [m for m in out.messages if m.severity > 10]
        if errors:
            raise RuntimeError(
                "42000", f"[SQL Server]{errors[0].text} ({errors[0].number}) (SQLExecDirectW)"
            )
        self.sets = list(out.result_sets)
        return self
