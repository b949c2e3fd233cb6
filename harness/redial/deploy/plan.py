"""What a deployment would change, said before it changes anything."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from redial.config import Config
from redial.deploy.fingerprint import Catalog, Difference, Thing
from redial.deploy.fingerprint.compare import CHANGED, EXCESS, MISSING
from redial.deploy.fingerprint.repair import by_deploy, next_step, statement
from redial.deploy.port import Connect
from redial.deploy.verify import Look, look
from redial.quoting import literal
from redial.render import render

NOTHING, ERROR, CHANGES, BLOCKED = 0, 1, 2, 3
"""Exit statuses: nothing to do; (an error); a deployment changes something; it would be refused."""
VERSION = 1
"""Of the form of a plan's file."""
LEFT = ("leave", "by hand")
"""What a deployment does not do."""
OPERATORS = frozenset(
    {("queue", "receive"), ("queue", "enqueue"), ("index", "in use"), ("permission", "state")}
)
"""Switched off by the server or an operator, given to somebody, or long to rebuild: none is undone
unasked."""
_LOCKS = {
    "module": "Sch-M on the module, for a moment: who runs it is waited for",
    "queue": "Sch-M on the queue: waits for open RECEIVEs, and senders wait behind it",
    "table": "Sch-M on the table: waits for everybody who reads or writes it",
    "index": "Sch-M on the table: waits for everybody who reads or writes it",
    "service": "X on the service's row: BEGIN DIALOG waits",
}


@dataclass(frozen=True)
class Action:
    """One row of a plan."""

    do: str
    """create, alter, grant, write; by hand (a deployment leaves it), or leave (others' things)."""
    kind: str
    """Of the thing: table, module, permission."""
    thing: str
    """With its kind."""
    database: str
    why: str
    """not installed, other files, or drift: changed since the last deployment."""
    what: str
    """The difference in a sentence."""
    locks: str
    """What is locked and who waits; empty: nothing that matters."""
    sql: str
    """The statement, where it is one; a rendered file does the rest."""


@dataclass(frozen=True)
class Plan:
    """What would be done, where, and what was looked at."""

    config: str
    server: str
    login: str
    databases: list[str]
    gate: str
    """open, or closed and by whom."""
    dialogs: dict[str, int]
    """Open conversation endpoints by state: who is at work while a deployment runs."""
    drains: list[str]
    """Choices that change: the gate closes and dialogs end before they do."""
    blocked: list[str]
    """What a deployment would be refused for, each with its next step."""
    actions: list[Action]
    fingerprint: str
    """Of everything seen; a plan is only for what it has seen."""
    broker: str
    """service_broker_guid of the database."""
    files: str
    """Digest of the files it was made from."""
    others: list[str]
    """What else is wrong, each with its next step: broker off, a right or a signature missing."""
    version: int = VERSION

    @property
    def status(self) -> int:
        """Exit status."""
        if self.blocked:
            return BLOCKED
        does = self.others or any(one.do not in LEFT for one in self.actions)
        return CHANGES if does else NOTHING

    def to_json(self) -> str:
        """As a text, of which ``mark_of`` reads what a plan holds for."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def mark_of(text: str) -> tuple[str, str, str, str]:
    """Configuration, files, fingerprint and broker of a plan's file. Raises ValueError for another text."""
    try:
        said = json.loads(text)
        if said["version"] != VERSION:
            raise ValueError(f"a plan of form {said['version']}, and this Redial knows {VERSION}")
        mark = (said["config"], said["files"], said["fingerprint"], said["broker"])
        return tuple(map(str, mark))  # type: ignore[return-value]  # four of them
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError("not a plan that redial plan --out has written") from error


def plan(
    config: Config, connect: Connect, server: str, files: Mapping[str, str] | None = None
) -> Plan:
    """Look, and say what a deployment of ``files`` (None: rendered now) would do.

    server: what to call it. Raises the driver's errors.
    """
    looks = look(config, connect, files)
    with closing(connect()) as connection:
        login, guid, dialogs = _live(connection, config.schema_name)
    gates = [
        own["state"] for one in looks for thing, own in one.found.items() if thing.kind == "gate"
    ]
    return Plan(
        config=config.name,
        server=server,
        login=login,
        databases=[one.database for one in looks],
        gate=", ".join(gates) or "open",
        dialogs=dialogs,
        drains=[
            f"{difference.thing.name}: {difference.found} becomes {difference.wanted}"
            for one in looks
            for difference in one.differences
            if difference.thing.kind == "setting" and difference.how == CHANGED
        ],
        blocked=[line for one in looks for line in _blocked(one, config.schema_name)],
        actions=[action for one in looks for action in actions(one, config.schema_name)],
        fingerprint=fingerprint([one.found for one in looks]),
        broker=guid,
        files=digest(files if files is not None else render(config)),
        others=[line for one in looks if not one.unseen and one.installed for line in one.others],
    )


def digest(files: Mapping[str, str]) -> str:
    """Of rendered files, the same for the same names and texts."""
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()


def fingerprint(catalogs: Sequence[Catalog]) -> str:
    """A digest of everything seen of an installation; the same for the same catalog."""
    said = [
        [[*thing], sorted(own.items())]
        for catalog in catalogs
        for thing, own in sorted(catalog.items())
    ]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def actions(one: Look, schema: str) -> list[Action]:
    """The rows of one database, in the order of the files."""
    return [_action(one, difference, schema) for difference in one.differences]


def repairs(one: Look, schema: str) -> list[str]:
    """Statements for drift that no file undoes and that touches nobody's data or rights."""
    found = [
        statement(difference, schema)
        for difference in one.differences
        if difference.how == CHANGED
        and not by_deploy(difference)
        and (difference.thing.kind, difference.what) not in OPERATORS
    ]
    return [sql for sql in found if sql is not None]


def _action(one: Look, difference: Difference, schema: str) -> Action:
    thing, how = difference.thing, difference.how
    sql = statement(difference, schema) or ""
    if how == EXCESS:
        do = "leave"
    elif not by_deploy(difference) and (not sql or (thing.kind, difference.what) in OPERATORS):
        do = "by hand"
    elif thing.kind == "permission":
        do = "grant" if by_deploy(difference) else "revoke"
    elif thing.kind in ("setting", "deployment", "mark"):
        do = "write"
    else:
        do = "create" if how == MISSING else "alter"
    said = str(difference)
    if do in LEFT:
        said += f". Next: {next_step(difference, schema)}"
    locks = "" if how == MISSING and thing.kind != "index" else _LOCKS.get(thing.kind, "")
    return Action(do, thing.kind, str(thing), one.database, _why(one), said, locks, sql)


def _why(one: Look) -> str:
    if not one.installed:
        return "not installed"
    other = any(difference.thing == Thing("deployment", "last") for difference in one.differences)
    return "other files" if other else "drift"


def _blocked(one: Look, schema: str) -> list[str]:
    """Of what was seen, what ends a deployment before it changes anything."""
    if one.unseen:
        return list(one.others)
    return [
        f"{difference}. Next: {next_step(difference, schema)}"
        for difference in one.differences
        if difference.what == "text" and not by_deploy(difference)
    ]


def _live(connection: Any, schema: str) -> tuple[str, str, dict[str, int]]:
    """Who asks, which broker this is, and the dialogs at work.

    ``endpoints`` are counted with NOLOCK, for other sessions' are locked while they work.
    """
    with closing(connection.cursor()) as cursor:
        login, guid = cursor.execute(
            "SELECT ORIGINAL_LOGIN(), CONVERT(nvarchar(36), d.service_broker_guid) "
            "FROM sys.databases AS d WHERE d.database_id = DB_ID();"
        ).fetchall()[0]
    with closing(connection.cursor()) as cursor:
        rows = cursor.execute(
            "SELECT ce.state_desc, COUNT_BIG(*) FROM sys.conversation_endpoints AS ce WITH (NOLOCK) "
            "INNER JOIN sys.services AS s ON s.service_id = ce.service_id "
            "INNER JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id "
            f"WHERE q.schema_id = SCHEMA_ID({literal(schema)}) "
            "GROUP BY ce.state_desc;"
        ).fetchall()
    return login, guid, {state: int(count) for state, count in rows}
