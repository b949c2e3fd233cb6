"""Connections that die: the whole of a deployment, its own statements included, cut off at any of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from functools import partial
from typing import Any

from redial.cli.installing import Allowed, install, tables_are_there
from redial.config import Config
from redial.deploy import survey, uninstall
from redial.deploy.history import REMOVING, Story
from redial.deploy.plan import NO_LOSS
from redial.deploy.removal import removal_plan
from redial.deploy.verify import findings, look
from redial.quoting import quote_name
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from tests.installed import borrow, key_of, rendered
from tests.product.sql import catalog
from tests.product.sql.bare import Bare, moved, seen_next
from tests.product.sql.lab import AUDIT, Client
from tests.sampling import Cases, crash_stride, tonight

from .inside import Connection, Cursor, written

HOME = "lab"
"""The database of the connections."""
REVISION = "r1"
"""Of the source: what is written down is the same in every run."""


class Killed(BaseException):
    """The client's process is gone: nothing after it runs, nothing is written down."""


class Place:
    """A database with virtual time, and how many statements are left until the client is killed.

    beside: another database, for a target.
    """

    def __init__(self, bare: Bare | None = None, beside: str | None = None) -> None:
        self.bare = bare or Bare()
        self.databases = [HOME, *([beside] if beside else [])]
        if beside and not bare:
            self.bare.sa.execute(f"CREATE DATABASE {quote_name(beside)};")
        self.left: int | None = None
        self.ran = 0
        self.changed: list[int] = []
        """After how many statements something was another than before, and no transaction was open."""

    @property
    def instance(self) -> Any:
        return self.bare.instance

    def connect(self) -> Dying:
        return Dying(self)

    def catalog(self, config: Config | None = None) -> catalog.Snapshot:
        """Of every database; of a configuration also what verify says, notes included."""
        found = {
            f"{kind} of {database}": rows
            for database in self.databases
            for kind, rows in catalog.snapshot(partial(self.rows, database=database)).items()
        }
        if config is not None:
            looks = look(config, self.connect, rendered(config))
            found["findings"] = [(line,) for line in findings(looks)]
            found["notes"] = [(line,) for one in looks for line in one.notes()]
        return found

    def state(self) -> object:
        """All that whoever comes next can see, in every database."""
        return [seen_next(partial(self.rows, database=database)) for database in self.databases]

    def rows(self, sql: str, database: str = HOME) -> list[tuple]:
        connection = Connection(self.instance, database)
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
        self.left, self.ran, self.changed = after, 0, []
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

    def deploys(
        self,
        config: Config,
        what: str = "deploy",
        *,
        overwrite: bool = False,
        undo: bool = False,
        losses: Mapping[str, int] = NO_LOSS,
    ) -> Callable[[], int]:
        """As the commands deploy and rollback do it; an attempt that is blocked fails."""

        def work() -> int:
            files = rendered(config)
            connection = self.connect()
            seen = survey(config, connection, files, overwrite=overwrite, undo=undo, losses=losses)
            connection.close()
            tables_are_there(seen.looks, losses)
            assert not seen.plan.blocked, seen.plan.blocked
            if not seen.plan.status:
                return 0
            allowed = Allowed(overwrite, losses, wait_seconds=60, undo=undo)
            return install(config, self.connect, files, seen, what, allowed, REVISION)

        return work

    def removes(self, config: Config, purge: bool = True) -> Callable[[], Any]:
        """As the command uninstall does it, with the rows that its plan names; nothing where it sees
        nothing."""

        def work() -> None:
            made = removal_plan(config, self.connect, rendered(config), purge)
            if made.removals:
                story = Story(REMOVING, "")
                uninstall(config, self.connect, purge, purge_rows=made.rows, story=story)

        return work


def installed(config: Config = AUDIT) -> Place:
    """Deployed in one database, or in two: made once, lent to a test and rewound."""
    beside = config.target.database

    def install() -> Instance:
        place = Place(beside=beside)
        assert not place.run(place.deploys(config))
        place.instance.disconnect(place.bare.sa.session)
        return place.instance

    instance = borrow(("killing", key_of(config)), install)
    return Place(Bare.over(instance, config), beside)


class Kills:
    """A piece of work, killed after every so-manieth of its statements; each state it leaves is
    handed out once.

    Behind a statement that has changed nothing, and inside a transaction, a kill leaves what the one
    before has left: with a stride of 1 it is not killed there, with others it is.
    """

    def __init__(
        self,
        place: Place,
        work: Callable[[], Any],
        usual: int,
        config: Config | None = None,
        every: int = 1,
    ) -> None:
        """usual: the stride on the gate; at night a third of the changes takes its turn. config: of what is
        there in the end. every: of how many of these one is taken, for work that takes long."""
        self.place, self.work, self.stride = place, work, crash_stride(usual)
        self.cases = Cases()
        self.killed = self.after = 0
        self.back = place.moment()
        assert not place.run(work)
        self.statements, self.changed = place.ran, tonight(place.changed)[::every]
        self.wanted = place.catalog(config)
        """As it is when nobody kills it."""

    def __iter__(self) -> Iterator[int]:
        """After how many statements; the place is as the kill has left it."""
        points = range(self.stride, self.statements, self.stride)
        for self.after in points if self.stride > 1 else [0, *self.changed]:
            self.back()
            if not self.place.run(self.work, self.after):
                break  # behind the last statement
            self.killed += 1
            if self.cases.new(self.place.state()):
                self.cut = self.place.moment()
                yield self.after

    def ends(
        self, work: Callable[[], Any], wanted: catalog.Snapshot, config: Config | None = None
    ) -> None:
        """Other work, begun where the kill has left it, ends like that. config: of what is there then."""
        self.cut()
        assert not self.place.run(work)
        differ = catalog.difference(wanted, self.place.catalog(config))
        assert not differ, (self.after, differ)

    def __str__(self) -> str:
        return (
            f"{self.statements} statements, killed behind {self.killed} of them: "
            f"{len(self.cases)} states were left"
        )


class Dying(Connection):
    """A connection of a client that may be killed."""

    def __init__(self, place: Place) -> None:
        self.place = place
        super().__init__(place.instance, HOME)

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
        changed = False
        while not out.finished:
            if place.left == 0:
                place.instance.kill(session.id)
                raise Killed
            if place.left is not None:
                place.left -= 1
            place.ran += 1
            log = place.instance.engine.journal.log
            since = len(log)
            if not place.instance.pump(1) and not out.finished:
                place.instance.clock.advance(0.5)
            changed = changed or moved(log[since:])
            if changed and session.transaction is None:
                place.changed.append(place.ran)
                changed = False
        errors = [m for m in out.messages if m.severity > 10]
        if errors:
            raise RuntimeError(
                "42000", f"[SQL Server]{errors[0].text} ({errors[0].number}) (SQLExecDirectW)"
            )
        self.sets = list(out.result_sets)
        return self
