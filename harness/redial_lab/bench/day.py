"""A day of mixed load in virtual time: does anything grow that should not?

``python -m redial_lab.bench.day`` plays 24 hours of the shipped configuration: applications that send
in transactions of their own and roll some back, come and go, are killed at work, run queries nobody
ran before, fill temporary tables and fail; dialogs that are recycled every hour; a reader, and an
hourly purge of what it has read. It prints every hour's memory and the sizes of everything that
holds state.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from redial.config import Config
from redial.render.quoting import literal, quote_name
from redial_lab.bench.client import BODY
from redial_lab.bench.endpoints import memory_mb
from redial_lab.bench.local import audit, deployed

HOURS = 24
APPLICATIONS = 8
SENDS_A_MINUTE = 4
"""Messages an application sends in a minute, on average."""

NEW_TEXTS_A_MINUTE = 10
"""Queries nobody has run before, each with its constants in its text."""

SETTLED_HOUR = 5
"""The hour memory is compared with: by then the caches of texts and programs are full."""


@dataclass(frozen=True, slots=True)
class Hour:
    """One virtual hour."""

    number: int
    seconds: float
    sent: int
    landed: int
    """Messages so far."""
    memory_mb: float
    held: dict[str, int]
    """Sizes of what holds state, by name."""


class Day:
    """The load. seed: of everything random in it; the same seed is the same day."""

    def __init__(self, seed: int = 0, sends_a_minute: int = SENDS_A_MINUTE) -> None:
        self.random = random.Random(seed)
        self.config = audit()
        self.sends_a_minute = sends_a_minute
        self.instance, self.operator = deployed(self.config)
        self.call = _call(self.config)
        self.schema = quote_name(self.config.schema_name)
        self.applications = [self.instance.connect("bench") for _ in range(APPLICATIONS)]
        self.sent = self.landed = 0

    def hours(self, count: int = HOURS) -> Iterator[Hour]:
        """Play that many hours. RuntimeError when a message is lost."""
        for number in range(1, count + 1):
            started = time.perf_counter()
            for minute in range(60):
                self._minute(minute)
                self.instance.advance(60.0)
            self._read_and_purge()
            yield Hour(
                number,
                time.perf_counter() - started,
                self.sent,
                self.landed,
                memory_mb(),
                self.held(),
            )

    def _minute(self, minute: int) -> None:
        """What every application does in one minute; one of them does something unusual."""
        for application in self.applications:
            sends = self.random.randint(0, 2 * self.sends_a_minute)
            application.execute("BEGIN TRANSACTION;" + self.call * sends + "COMMIT;").ok()
            self.sent += sends
        unusual = self.random.randrange(APPLICATIONS)
        for _ in range(NEW_TEXTS_A_MINUTE):
            self._new_text(unusual)
        (self._roll_back, self._come_back, self._kill, self._temporary_table, self._fail)[
            minute % 5
        ](unusual)

    def _roll_back(self, who: int) -> None:
        self.applications[who].execute(
            f"BEGIN TRANSACTION;{self.call}SAVE TRANSACTION half;{self.call}ROLLBACK;"
        ).ok()

    def _come_back(self, who: int) -> None:
        self.applications[who].close()
        self.applications[who] = self.instance.connect("bench")

    def _kill(self, who: int) -> None:
        self.applications[who].execute(f"BEGIN TRANSACTION;{self.call}").ok()
        self.instance.kill(self.applications[who].id)
        self.applications[who] = self.instance.connect("bench")

    def _new_text(self, who: int) -> None:
        self.applications[who].execute(
            f"SELECT COUNT(*) AS [{self.random.getrandbits(64)}] FROM {self.schema}.Landing "
            f"WHERE MessageSequence > {self.random.getrandbits(20)};"
        ).ok()

    def _temporary_table(self, who: int) -> None:
        self.applications[who].execute(
            "CREATE TABLE #seen (id int PRIMARY KEY, body varbinary(max));"
            f"INSERT #seen VALUES (1, 0x{BODY.hex()}); UPDATE #seen SET id += 1; DROP TABLE #seen;"
        ).ok()

    def _fail(self, who: int) -> None:
        self.applications[who].execute("BEGIN TRY SELECT 1 / 0; END TRY BEGIN CATCH END CATCH;")
        self.applications[who].execute("SELECT CAST('x' AS int);")

    def _read_and_purge(self) -> None:
        """Count what has landed, then delete it; close the book of dialogs that are over."""
        rows = self.operator.execute(
            f"SELECT COUNT(*) FROM {self.schema}.Landing WHERE Body IS NOT NULL;"
        ).rows()
        self.landed += rows[0][0]
        if self.landed != self.sent:
            raise RuntimeError(f"{self.sent} messages were sent, {self.landed} have landed")
        self.operator.execute(
            f"DELETE {self.schema}.Landing; "
            f"DELETE {self.schema}.ConversationLog WHERE EndedUtc IS NOT NULL;"
        ).ok()

    def held(self) -> dict[str, int]:
        """How much of each thing the instance holds."""
        engine, broker = self.instance.engine, self.operator.database.broker
        tables = [item for item in self.operator.database.objects.values() if hasattr(item, "rows")]
        return {
            "locks": len(engine.locks.resources),
            "timers": len(engine.timers.entries),
            "sessions": len(self.instance.sessions),
            "endpoints": len(broker.endpoints),
            "groups": len(broker.groups),
            "objects": len(self.operator.database.objects),
            "rows": sum(len(table.rows.entries) for table in tables),
            "versions": len(engine.transactions.versions.kept),
            "journal": len(engine.journal.log),
        }


def _call(config: Config) -> str:
    """One call of usp_Send."""
    values = ", ".join(
        literal(value)
        for value in (
            config.services.initiator,
            config.services.target,
            config.contract.name,
            config.message_types[0].name,
        )
    )
    return f"EXECUTE {quote_name(config.schema_name)}.usp_Send {values}, 0x{BODY.hex()};"


def main(tell: Callable[[str], None] = print) -> dict[str, float]:
    """Play the day and tell every hour. Returns the figures by their stable names."""
    seen: list[Hour] = []
    for hour in Day().hours():
        seen.append(hour)
        held = ", ".join(f"{count} {name}" for name, count in hour.held.items())
        tell(
            f"hour {hour.number:2}: {hour.seconds:5.1f} s, {hour.sent:,} sent, "
            f"{hour.memory_mb:5.1f} MB; {held}"
        )
    settled = next(hour for hour in seen if hour.number == SETTLED_HOUR)
    return {
        "day.messages": seen[-1].landed,
        "day.seconds": sum(hour.seconds for hour in seen),
        "day.memory_mb": seen[-1].memory_mb,
        "day.late_to_early_memory": seen[-1].memory_mb / settled.memory_mb,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name} {value:,.3f}")
