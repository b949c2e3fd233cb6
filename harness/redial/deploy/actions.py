"""What a deployment does about each difference, which locks it takes, and who would wait."""

from __future__ import annotations

from dataclasses import dataclass

from redial.deploy.fingerprint import Difference, Thing
from redial.deploy.fingerprint.compare import CHANGED, EXCESS, MISSING, RENAMED, SINCE
from redial.deploy.fingerprint.keys import LOCAL_ROUTE
from redial.deploy.fingerprint.repair import advised, by_deploy, statement
from redial.deploy.handwork import Handwork
from redial.deploy.live import Live, named
from redial.deploy.verify import Look

LEFT = ("leave", "by hand")
"""What a deployment does not do."""
OPERATORS = frozenset(
    {("queue", "receive"), ("queue", "enqueue"), ("queue", "activation"), ("index", "in use")}
    | {("permission", "state"), ("index", "compression"), ("index", "partitions")}
)
"""Switched off by the server or an operator, given to somebody or denied, or long to rebuild: none is
undone unasked."""
NEW, OTHER_FILES, DRIFT, HAND = "not installed", "other files", "drift", "changed by hand"
"""Why something is done."""
_LOCKS = {
    "module": "Sch-M on the module, for a moment: who runs it is waited for",
    "queue": "Sch-M on the queue: waits for open RECEIVEs, and senders wait behind it",
    "table": "Sch-M on the table: waits for everybody who reads or writes it",
    "index": "Sch-M on the table: waits for everybody who reads or writes it",
    "column": "Sch-M on the table: waits for everybody who reads or writes it",
    "service": "X on the service's row: BEGIN DIALOG waits",
    "contract": "X on the contract's row: BEGIN DIALOG waits",
}


@dataclass(frozen=True)
class Action:
    """One row of a plan."""

    do: str
    """create, alter, drop, grant, write; by hand (a deployment leaves it), or leave (others' things)."""
    kind: str
    """Of the thing: table, module, permission."""
    thing: str
    """With its kind."""
    database: str
    why: str
    """not installed, other files, drift: changed since the last deployment, or changed by hand."""
    what: str
    """The difference in a sentence."""
    locks: str
    """What is locked and who waits; empty: nothing that matters."""
    sql: str
    """The statement, where it is one; a rendered file does the rest."""
    waits_for: str = ""
    """Sessions that hold it now, the one that would be waited for longest first; empty: nobody."""


def actions(one: Look, at_work: Live, by_hand: Handwork, overwrite: bool) -> list[Action]:
    """The rows of one database, in the order of the files.

    overwrite: whether what was changed by hand is replaced, also where its text is none of ours.
    """
    return [_action(one, difference, at_work, by_hand, overwrite) for difference in one.differences]


def repairs(one: Look) -> list[str]:
    """Statements for drift that no file undoes and that touches nobody's data or rights."""
    found = [
        statement(difference, one.schema)
        for difference in one.differences
        if difference.how == CHANGED and not by_deploy(difference) and not _others(difference)
    ]
    return [sql for sql in found if sql is not None]


def _others(difference: Difference) -> bool:
    """Whether it is for somebody else to decide."""
    thing = difference.thing
    return (thing.kind, difference.what) in OPERATORS or thing == LOCAL_ROUTE


def _action(
    one: Look, difference: Difference, at_work: Live, by_hand: Handwork, overwrite: bool
) -> Action:
    thing, how = difference.thing, difference.how
    sql = statement(difference, one.schema) or ""
    changed = by_hand.changed(one.database, difference)
    do = "alter" if changed and overwrite else _does(difference, sql)
    said = advised(difference, one.schema) if do in LEFT else str(difference)
    locks = "" if how == MISSING and thing.kind not in ("index", "contract") else None
    locks = _LOCKS.get(thing.kind, "") if locks is None else locks
    held = at_work.holders.get(thing.of if thing.kind in ("index", "column") else thing.name, [])
    why = HAND if changed else _why(one)
    waits_for = named(held) if locks and do not in LEFT else ""
    return Action(do, thing.kind, str(thing), one.database, why, said, locks, sql, waits_for)


def _does(difference: Difference, sql: str) -> str:
    """The verb of an action."""
    kind, how = difference.thing.kind, difference.how
    if how == SINCE:
        return "leave"
    if how == RENAMED:
        return "by hand"
    if how == EXCESS:
        return "drop" if by_deploy(difference) else "leave"
    if not by_deploy(difference) and (not sql or _others(difference)):
        return "by hand"
    if kind == "permission":
        return "grant" if by_deploy(difference) else "revoke"
    if kind in ("setting", "deployment", "mark"):
        return "write"
    return "create" if how == MISSING else "alter"


def _why(one: Look) -> str:
    if not one.installed:
        return NEW
    other = any(difference.thing == Thing("deployment", "last") for difference in one.differences)
    return OTHER_FILES if other else DRIFT
