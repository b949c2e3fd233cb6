"""An embedded database nothing is installed in: for tests that install, change and remove."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from redial.config import Config
from redial.deploy.apply import installation as in_order
from redial_broker.engine.locks import LockManager, Resource
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.ddl.probing import unprobed
from redial_broker.instance.instance import PASSWORD, USER, Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from redial_broker.instance.session import Session
from tests.installed import batches, borrow, key_of, rendered

from . import catalog
from .lab import AUDIT, Client, Lab

FILE = re.compile(r"\d_\w+\.sql")
"""A file of an installation: 1_core.sql."""
VOLATILE = (LockManager, Resource, Session, Transaction)
"""Parts of the broker that are as before when a client is gone."""
MAY_LOSE = "EXECUTE sys.sp_set_session_context N'redial.purge_rows', 1000000;"
"""What purge_data.sql asks for before it drops rows."""


def another(config: Config, **sections: dict[str, object]) -> Config:
    """``config`` with other values in some sections, checked by the model's rules."""
    plain = config.model_dump(mode="json", by_alias=True)
    for section, values in sections.items():
        if isinstance(values, dict):
            plain[section].update(values)
        else:
            plain[section] = values
    return Config.model_validate(plain)


def second(config: Config = AUDIT, **sections: object) -> Config:
    """A configuration of its own beside ``config`` that shares its message types and contract."""
    return another(
        config,
        name="second",
        schema="second",
        services={"initiator": "//second/initiator", "target": "//second/target"},
        roles={"module": "second_module", "sender": "second_sender"},
        **sections,
    )


def installation(config: Config) -> list[str]:
    """The batches of the parts, in order, as redial deploy sends them."""
    files = rendered(config)
    return [sql for name in in_order(files) for sql in batches(files[name])]


def installer(config: Config) -> list[str]:
    """The batches of the files of a folder, in order, as sqlcmd sends them."""
    files = rendered(config)
    return [sql for name in files if FILE.fullmatch(name) for sql in batches(files[name])]


def removal(config: Config, purge: bool = True) -> list[str]:
    """The batches of uninstall.sql, and of purge_data.sql with the word that rows may be lost."""
    names = ("uninstall.sql", "purge_data.sql") if purge else ("uninstall.sql",)
    said = [MAY_LOSE] if purge else []
    return said + [sql for name in names for sql in batches(rendered(config)[name])]


class Bare(Lab):
    """A fresh database with the lab's helpers; ``run`` moves time while a batch waits."""

    def __init__(
        self, config: Config = AUDIT, product: str | None = None, **switches: object
    ) -> None:
        self.config = config
        self.instance = Instance(seed=1, switches=switches, product=product)
        setup = self.instance.login(USER, PASSWORD, "master")
        setup.sink = Collector()
        setup.submit(Batch("CREATE DATABASE lab;"))
        self.settle()
        self.sa = Client(self)

    @classmethod
    def deployed(cls, config: Config = AUDIT) -> Bare:
        """One with the configuration installed already: made once, lent to a test and rewound."""

        def install() -> Instance:
            made = cls(config)
            made.deploy(config)
            made.instance.disconnect(made.sa.session)
            return made.instance

        return cls.over(borrow(("bare", key_of(config)), install), config)

    @classmethod
    def over(cls, instance: Instance, config: Config = AUDIT) -> Bare:
        """The helpers for an instance that is there."""
        made = cls.__new__(cls)
        made.config, made.instance = config, instance
        made.sa = Client(made)
        return made

    def attempt(self, sql: str, seconds: int = 200) -> list[int]:
        """Run one batch to its end, time passing; the numbers of its errors."""
        self.sa.submit(sql)
        for _ in range(seconds):
            if self.sa.out.finished:
                break
            self.advance(1)
        assert self.sa.out.finished, f"still waits: {sql[:200]}"
        return [error.number for error in self.sa.errors]

    def run(self, batches: list[str]) -> None:
        """Every batch; the first error fails the test."""
        with unprobed(self.instance.server):
            for sql in batches:
                assert self.attempt(sql) == [], (self.sa.errors, sql[:300])

    def stops(self, batches: list[str]) -> int:
        """As sqlcmd -b: up to the first batch that fails; its error's number, 0 for none."""
        with unprobed(self.instance.server):
            for sql in batches:
                numbers = self.attempt(sql)
                if numbers:
                    return numbers[0]
        return 0

    def killed_after(self, batches: list[str], statements: int) -> bool:
        """Run batches one after the other and KILL the session after so many statements.

        False when they end before.
        """
        session = self.sa.session
        try:
            for ran in self._steps(batches):
                if ran == statements:
                    self.instance.kill(session.id)
                    return True
        finally:
            self.settle()
            self.sa = Client(self)
        return False

    def changes(self, batches: list[str]) -> list[int]:
        """0, and after how many statements of the batches anything is another than before and no
        transaction is open: elsewhere a kill leaves what the one before has left. They are taken back.
        """
        start, found, changed = self.instance.snapshot(), [0], False
        session, log = self.sa.session, self.instance.engine.journal.log
        since = len(log)
        for ran in self._steps(batches):
            changed = changed or moved(log[since:])
            since = len(log)
            if changed and session.transaction is None:
                found.append(ran)
                changed = False
        self.settle()
        start.restore()
        self.sa = Client(self)
        return found

    def _steps(self, batches: list[str]) -> Iterator[int]:
        """Run batches statement by statement: before each, how many have run."""
        usual, self.instance.quantum = self.instance.quantum, 1
        session, ran = self.sa.session, count()
        try:
            with unprobed(self.instance.server):
                for sql in batches:
                    out = session.sink = Collector()
                    session.submit(Batch(sql))
                    while not out.finished:
                        yield next(ran)
                        if not self.instance.pump(1) and not out.finished:
                            self.instance.clock.advance(0.5)
        finally:
            self.instance.quantum = usual

    def deploy(self, config: Config) -> None:
        self.config = config
        self.run(installation(config))

    def remove(self, config: Config, purge: bool = True) -> None:
        self.run(removal(config, purge))

    def catalog(self) -> catalog.Snapshot:
        return catalog.snapshot(self.rows)

    def data(self, schema: str) -> dict[str, list[tuple]]:
        """Every row of every table of a schema."""
        return data_of(self.rows, schema)

    def left(self) -> object:
        """All that whoever comes next can see."""
        return seen_next(self.rows)


def moved(log: Sequence[tuple[Any, ...]]) -> bool:
    """Whether anything but locks and transactions is another than before these records of the journal,
    which it keeps while a snapshot is held."""
    return any(not isinstance(record[1], VOLATILE) for record in log)


def data_of(rows: catalog.Rows, schema: str) -> dict[str, list[tuple]]:
    """Every row of every table of a schema."""
    names = rows(
        "SELECT t.name FROM sys.tables AS t WHERE t.schema_id = "
        f"SCHEMA_ID(N'{schema}') ORDER BY t.name;"
    )
    return {name: rows(f"SELECT * FROM [{schema}].[{name}];") for (name,) in names}


def seen_next(rows: catalog.Rows) -> object:
    """All of a database that whoever comes next can see: the catalog, every row, dialog and message."""
    queues = rows(
        "SELECT QUOTENAME(SCHEMA_NAME(q.schema_id)) + N'.' + QUOTENAME(q.name) "
        "FROM sys.service_queues AS q ORDER BY q.name;"
    )
    waiting = {name: rows(f"SELECT * FROM {name};") for (name,) in queues}
    return catalog.snapshot(rows, also=AT_WORK), data_of(rows, "audit"), waiting


AT_WORK = {
    "dialogs": "SELECT * FROM sys.conversation_endpoints",
    "not delivered": "SELECT * FROM sys.transmission_queue",
    "databases": "SELECT * FROM sys.databases",
    "logins": "SELECT * FROM sys.server_principals",
    "logins' rights": "SELECT * FROM sys.server_permissions",
    "sessions": "SELECT s.login_name, s.status FROM sys.dm_exec_sessions AS s",
}
"""Beside the catalog: what an installation or a removal waits for, changes or asks."""

_CATALOGS: dict[str, catalog.Snapshot] = {}


def fresh_catalog(config: Config | None) -> catalog.Snapshot:
    """The catalog of a fresh installation, worked out once; None: of an empty database."""
    key = key_of(config) if config else ""
    if key not in _CATALOGS:
        bare = Bare()
        if config:
            bare.deploy(config)
        _CATALOGS[key] = bare.catalog()
    return _CATALOGS[key]
