"""Who and what is at work where a deployment would run. Nothing here waits for a lock of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from redial.deploy.fingerprint.queries import Row, asked, sets_of
from redial.paths import SQL
from redial.quoting import literal

LIVE = SQL / "catalog" / "live.sql"
"""The questions, a batch."""
UNSEEN = "sessions that cannot be named without VIEW SERVER STATE"
SHOWN = 5
"""Sessions, or modules, that are named one by one."""


@dataclass(frozen=True)
class Session:
    """One that has something of ours, or the database."""

    number: int
    who: str
    """Login, host and program."""
    seconds: int
    """Since when its transaction is open, or it is there."""
    reader: bool
    """Whether activation started it: such come and go."""

    def __str__(self) -> str:
        return f"session {self.number} ({self.who}) for {self.seconds} s"


@dataclass(frozen=True)
class Live:
    """What is there besides the catalog."""

    login: str
    broker: str
    """service_broker_guid of the database."""
    product: str
    """Version, edition and compatibility level."""
    dialogs: dict[str, int]
    """Open conversation endpoints by state."""
    contracts: dict[str, int]
    """Those that are not CLOSED by contract."""
    services: dict[str, int]
    """The same by service."""
    pending: dict[str, int]
    """Messages that were sent and have not arrived, by transmission status."""
    depth: dict[str, int]
    """Messages in each of our queues."""
    rows: dict[str, int]
    """Rows of each table of the schema."""
    sees: bool
    """Whether other sessions may be looked at."""
    holders: dict[str, list[Session]] = field(default_factory=dict)
    """By table or queue, whose open transactions hold locks on it."""
    others: list[Session] = field(default_factory=list)
    """Where Service Broker is off: sessions in the database."""

    def in_the_way(self) -> str:
        """Sessions with open transactions on what is ours, each once; empty: nobody."""
        found = {one.number: one for held in self.holders.values() for one in held}
        if not self.sees:
            return UNSEEN
        return named([one for one in found.values() if not one.reader])


NOBODY = Live("", "", "", {}, {}, {}, {}, {}, {}, True)
"""Of a database that cannot be looked at."""


def live(connection: Any, schema: str) -> Live:
    """Ask one database, in one round trip. Raises the driver's errors."""
    text = LIVE.read_text("utf-8")
    sql = f"SET NOCOUNT ON;\nDECLARE @schema sysname = {literal(schema)};\n{text}"
    answers = dict(zip(asked(text), sets_of(connection, sql), strict=True))
    [server] = answers["server"]
    holders: dict[str, list[Session]] = {}
    for row in answers["holders"]:
        one, held = _session(row), holders.setdefault(row["object"], [])
        held += [one] if one not in held else []
    return Live(
        login=server["login"],
        broker=server["broker"],
        product=server["product"],
        dialogs=_counts(answers["dialogs"]),
        contracts=_counts(answers["contracts"]),
        services=_counts(answers["services"]),
        pending=_counts(answers["pending"]),
        depth=_counts(answers["depth"]),
        rows=_counts(answers["rows"]),
        sees=bool(server["sees"]),
        holders=holders,
        others=[_session(row) for row in answers["others"]],
    )


def how_many(count: int, noun: str) -> str:
    """1 row, 2 rows."""
    return f"{count} {noun}{'s' * (count != 1)}"


def named(sessions: list[Session]) -> str:
    """Sessions in one line, those that are there longest first."""
    first = sorted(sessions, key=lambda one: (-one.seconds, one.number))
    more = [f"and {len(first) - SHOWN} more"] if len(first) > SHOWN else []
    return "; ".join([*map(str, first[:SHOWN]), *more])


def _session(row: Row) -> Session:
    who = ", ".join(
        f"{what} {row[column] or 'unknown'}"
        for what, column in (
            ("login", "login_name"),
            ("host", "host_name"),
            ("program", "program_name"),
        )
    )
    return Session(row["session_id"], who, row["seconds"] or 0, bool(row["reader"]))


def _counts(rows: list[Row]) -> dict[str, int]:
    return {str(row["name"]): int(row["counted"]) for row in rows}
