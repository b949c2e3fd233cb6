"""What an uninstall would end, drop and keep, said before it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from redial.config import Config
from redial.deploy.apply import counting, looking, removal_files, telling, use
from redial.deploy.fingerprint import Thing
from redial.deploy.fingerprint.compare import EXCESS
from redial.deploy.fingerprint.keys import LOCAL_ROUTE
from redial.deploy.fingerprint.model import MEMBER, SURROUNDING
from redial.deploy.fingerprint.queries import sets_of
from redial.deploy.live import Live, live
from redial.deploy.port import Connect
from redial.deploy.verify import Look, home_of, look_over
from redial.quoting import literal
from redial.server import label_of

KEPT = frozenset({"table", "schema", "user", "role"})
"""Kinds that stay until --purge-data."""
_SHOWN = KEPT | {
    "module",
    "queue",
    "service",
    "contract",
    "message type",
    "type",
    "broker priority",
}
_SHOWN |= {"certificate", "route", "remote service binding", "event notification", "agent job"}
"""Kinds that are counted: the others go with one of these."""
_INSIDE = frozenset({"table", "module", "queue", "type", "object", "XML schema collection"})
"""Kinds that are in a schema, and keep it."""
OUR_OWN = frozenset(
    {"Gate", "Setting", "Migration", "OwnedObject", "DeploymentHistory", "DeploymentAttempt"}
    | {"DeploymentText", "OperatorLog", "IdleWatch", "LandingAcknowledged"}
)
"""Tables whose rows are nobody's data (purge_data.sql counts the same)."""


@dataclass(frozen=True)
class Removal:
    """Of one database."""

    database: str
    drops: dict[str, int] = field(default_factory=dict)
    """How many of each kind."""
    keeps: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    """Of each table with data."""
    dialogs: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    queued: dict[str, int] = field(default_factory=dict)
    """Messages in each queue."""
    arriving: int = 0
    """Rows more that a drain could land: messages under way, the end of each dialog."""
    in_the_way: str = ""
    stays: tuple[str, ...] = ()
    """What somebody else has made there, and stays."""
    held: tuple[str, ...] = ()
    """What of ours it leaves, and why."""


@dataclass(frozen=True)
class RemovalPlan:
    """Of a configuration."""

    server: str
    removals: list[Removal]
    """Of each database in which there is anything; empty: of none."""
    looked_at: list[str]
    """The databases."""
    unseen: list[str]
    """Why a database could not be looked at."""

    @property
    def rows(self) -> int:
        """Rows of data that a purge would drop, those that a drain would land too."""
        return sum(sum(one.rows.values()) + one.arriving for one in self.removals)


def removal_plan(
    config: Config, connect: Connect, files: Mapping[str, str], purge: bool
) -> RemovalPlan:
    """Look, and say what an uninstall would do. Raises the driver's errors."""
    with looking(connect, config) as connection:
        looks = look_over(config, connection, files)
        found = []
        for one in looks:
            if config.target.database and not one.unseen:
                use(connection, one.database)
            if not one.unseen and _anything(one, config):
                at_work = live(connection, config.schema_name)
                found.append(_removal(one, at_work, purge, _shared(connection, config)))
    return RemovalPlan(
        label_of(home_of(looks).version or "a server that tells nothing of itself"),
        found,
        [one.database for one in looks],
        [line for one in looks if one.unseen for line in one.others],
    )


def _anything(one: Look, config: Config) -> bool:
    return one.installed or Thing("user", config.roles.module) in one.found


_SHARED = """
SELECT x.Kind, x.Name, u.Others
FROM (SELECT N'service' AS Kind, s.name AS Name, 17 AS Class, s.service_id AS Id FROM sys.services AS s
      UNION ALL
      SELECT N'contract', sc.name, 16, sc.service_contract_id FROM sys.service_contracts AS sc
      UNION ALL
      SELECT N'message type', mt.name, 15, mt.message_type_id FROM sys.service_message_types AS mt) AS x
CROSS APPLY (SELECT COUNT(CASE WHEN ep.name LIKE N'Redial.user.%' AND ep.name <> m.Mark THEN 1 END) AS Others,
                    COUNT(CASE WHEN ep.name = N'Redial.made' THEN 1 END) AS Made
             FROM (SELECT CONCAT(N'Redial.user.', SCHEMA_ID({schema})) AS Mark) AS m
             LEFT OUTER JOIN sys.extended_properties AS ep ON ep.class = x.Class AND ep.major_id = x.Id) AS u
WHERE u.Others > 0 OR u.Made = 0;
"""
"""What configurations can share and is not ours alone: uninstall.sql asks the same before it drops."""


def _shared(connection: Any, config: Config) -> dict[Thing, str]:
    """What of it stays, and why. One round trip."""
    [rows] = sets_of(connection, _SHARED.format(schema=literal(config.schema_name)))
    return {
        Thing(row["Kind"], row["Name"]): "another configuration uses it"
        if row["Others"]
        else "it was there before"
        for row in rows
    }


def _removal(one: Look, at_work: Live, purge: bool, shared: dict[Thing, str]) -> Removal:
    """shared: what others have a part in, and stays."""
    ours = [thing for thing in one.found if thing in one.wanted and not _part(thing)]
    ours = [thing for thing in ours if thing != LOCAL_ROUTE]  # every database has it
    held = {thing: why for thing, why in shared.items() if thing in ours}
    held |= _held(one) if purge else {}
    counts = Counter(thing.kind for thing in ours)
    gone = Counter(
        thing.kind for thing in ours if (purge or thing.kind not in KEPT) and thing not in held
    )
    return Removal(
        one.database,
        dict(gone),
        dict(counts - gone),
        {
            name: rows
            for name, rows in at_work.rows.items()
            if rows and name not in OUR_OWN and Thing("mark", "TABLE", name) in one.found
        },
        at_work.dialogs,
        at_work.pending,
        {queue: count for queue, count in at_work.depth.items() if count},
        sum((*at_work.pending.values(), *at_work.depth.values()))
        + sum(n for state, n in at_work.dialogs.items() if state != "CLOSED"),
        at_work.in_the_way(),
        tuple(map(str, _others(one))),
        tuple(f"{thing}: {why}" for thing, why in held.items()),
    )


def _others(one: Look) -> list[Thing]:
    """What somebody else has made there."""
    return [
        each.thing
        for each in one.differences
        if each.how == EXCESS and each.thing.kind not in SURROUNDING | {"permission"}
    ]


def _held(one: Look) -> dict[Thing, str]:
    """What a purge leaves, and why: a role with members, a schema with objects of others."""
    found = {}
    for role in (thing for thing in one.wanted if thing.kind == "role"):
        if who := sorted(thing.name for thing in one.found if thing[::2] == (MEMBER, role.name)):
            found[role] = f"{', '.join(who)} is in it. Next: ALTER ROLE .. DROP MEMBER, or leave it"
    inside = [thing for thing in _others(one) if thing.kind in _INSIDE]
    if inside:
        schema = Thing("schema", one.schema)
        found[schema] = f"{', '.join(map(str, inside))} is in it"
        found |= {thing: "the schema is its own" for thing in one.wanted if thing.kind == "user"}
    return found


def _part(thing: Thing) -> bool:
    """Whether it goes with what it belongs to, or is no object."""
    apart = bool(thing.of) and thing.kind not in ("module", "agent job")
    return apart or thing.kind not in _SHOWN


def printed(config: Config, files: Mapping[str, str], purge: bool, rows: int) -> str:
    """The T-SQL of an uninstall, as it would be sent."""
    said = telling({"redial.purge_rows": rows}) if purge else []
    whole = ((name, files[name]) for name in removal_files(files, purge))
    return "".join(f"{text}\nGO\n" for text in said) + "".join(
        f"/* {name} */\n{text}" for name, text in (*counting(files, purge), *whole)
    )
