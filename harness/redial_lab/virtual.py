"""The embedded broker as scenarios know a server: in this process, on a virtual clock.

Sessions take turns statement by statement, so the same story is the same run, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from redial.config import Config
from redial.deploy import DeployError
from redial.render import render
from redial.server import EMBEDDED_LABEL
from redial.tsql import split_batches
from redial_broker.engine.clock import VirtualClock
from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from redial_lab.scenarios.port import Answer, Client

MOMENT = 37
"""Statements of a moment, all sessions together: no multiple of what a procedure's loop takes, so
moments fall everywhere in it."""

MOMENT_SECONDS = 0.01
"""What so much work takes: some 140 messages a second, so timers fire while callers are at work."""


class VirtualClient:
    """A session of the instance."""

    def __init__(self, instance: Instance, database: str) -> None:
        self._session = instance.connect(database)
        self.session = self._session.id
        self._instance = instance
        self._out = Collector()

    def starts(self, sql: str) -> None:
        """Submit the batch; it runs when the port lets everybody work."""
        self._out = self._session.sink = Collector()
        if self._instance.sessions.get(self.session) is not self._session:
            self._out.finish()  # killed: nobody is there any more
            return
        self._session.submit(Batch(sql))

    def finished(self) -> bool:
        """Whether the batch has been answered."""
        return self._out.finished or self._gone()

    def answer(self) -> Answer:
        """Of the last batch."""
        rows = [tuple(row) for found in self._out.result_sets for row in found.rows]
        errors = [(message.number, message.text) for message in self._out.errors]
        return Answer(rows, errors, broken=self._gone())

    def leaves(self) -> None:
        """Close the session."""
        if not self._gone():
            self._session.close()

    def _gone(self) -> bool:
        return self._instance.sessions.get(self.session) is not self._session


class VirtualPort:
    """An instance with an empty database.

    quantum: see Instance. moment: statements of a moment. switches: of the engine, by name.
    """

    label = EMBEDDED_LABEL
    virtual = True

    def __init__(
        self,
        database: str = "scenario",
        seed: int = 1,
        quantum: int = 1,
        moment: int = MOMENT,
        **switches: Any,  # each has a type of its own
    ) -> None:
        self._statements = moment
        self.instance = Instance(seed=seed, quantum=quantum, switches=switches)
        self.database = database
        admin = self.instance.connect()
        admin.execute(f"CREATE DATABASE [{database}];").ok()
        admin.close()

    def install(self, config: Config, mutant: str | None) -> None:
        """Run the rendered scripts. Raises DeployError."""
        session = self.instance.connect(self.database)
        for name, text in render(config, mutant=mutant).items():
            if not name[:2].isdigit():
                continue
            for sql, line, count in split_batches(text):
                for _ in range(count):
                    error = session.execute(sql).error()
                    if error is not None:
                        raise DeployError(name, line, error.number, error.text)
        session.close()

    def client(self) -> VirtualClient:
        """A session."""
        return VirtualClient(self.instance, self.database)

    def settle(self, clients: Sequence[Client], seconds: float) -> None:
        """Moment by moment; where nobody can go on, time passes until somebody can."""
        clock = cast(VirtualClock, self.instance.clock)
        end = clock.now() + seconds
        while not all(client.finished() for client in clients) and clock.now() < end:
            if self._moment() or all(client.finished() for client in clients):
                continue
            due = self.instance.next_due()
            clock.advance(min(end - clock.now(), due if due is not None else seconds))

    def moment(self) -> None:
        """A few statements of everybody who can go on."""
        self._moment()

    def _moment(self) -> bool:
        """Whether somebody could go on at once."""
        cast(VirtualClock, self.instance.clock).advance(MOMENT_SECONDS)
        more = self.instance.pump(self._statements)
        self._sound()
        return more

    def _sound(self) -> None:
        """No story is told on a broker that broke, be it in a reader nobody asks. Raises
        RuntimeError.
        """
        for where, text in self.instance.defects.found:
            raise RuntimeError(f"defect of the embedded broker in {where}: {text}")

    def now(self) -> float:
        """Of the virtual clock."""
        return self.instance.clock.now()

    def wait(self, seconds: float) -> None:
        """Advance the clock."""
        self.instance.advance(seconds)
        self._sound()
