"""What a deployment does about each difference, which locks it takes, and who would wait."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from redial.deploy.fingerprint import Difference, Thing
from redial.deploy.fingerprint.compare import CHANGED, EXCESS, MISSING, SINCE
from redial.deploy.fingerprint.model import DENIED
from redial.deploy.fingerprint.repair import FILES, way, ways_of
from redial.deploy.fingerprint.turns import OF_A_TABLE, in_turn, is_late
from redial.deploy.handwork import Handwork
from redial.deploy.live import Live, named
from redial.deploy.verify import Look
from redial.deploy.whole import told, whole

LEFT = ("leave", "by hand")
"""What a deployment does not do."""
NEW, OTHER_FILES, DRIFT, HAND = "not installed", "other files", "drift", "changed by hand"
EARLIER = "an earlier choice"
"""Why something is done."""
_ON_A_TABLE = "Sch-M on the table: waits for everybody who reads or writes it"
_LOCKS = {
    "module": "Sch-M on the module, for a moment: who runs it is waited for",
    "queue": "Sch-M on the queue: waits for open RECEIVEs, and senders wait behind it",
    **dict.fromkeys(("table", *OF_A_TABLE), _ON_A_TABLE),
    "service": "X on the service's row: BEGIN DIALOG waits",
    "contract": "X on the contract's row: BEGIN DIALOG waits",
}


@dataclass(frozen=True)
class Action:
    """One row of a plan."""

    do: str
    """create, alter, drop, grant, revoke, write; by hand (a deployment leaves it), or leave (of others)."""
    kind: str
    """Of the thing: table, module, permission."""
    thing: str
    """With its kind."""
    database: str
    why: str
    """not installed, other files, drift: changed since the last deployment, changed by hand, or made by an
    earlier choice."""
    what: str
    """The difference in a sentence."""
    locks: str
    """What is locked and who waits; empty: nothing that matters."""
    sql: str
    """The statement, where it is one; a rendered file does the rest."""
    waits_for: str = ""
    """Sessions that hold it now, the one that would be waited for longest first; empty: nobody."""


def actions(
    one: Look, at_work: Live, by_hand: Handwork, overwrite: bool, undo: bool
) -> list[Action]:
    """The rows of one database, in the order of the files.

    overwrite: whether what was changed by hand is replaced, also where its text is none of ours.
    undo: whether that goes too which somebody has chosen or added.
    """
    runs = (*ways_of(overwrite, undo), FILES)
    return [
        _action(one, each, at_work, by_hand.changed(one.database, each), runs)
        for each in one.differences
    ]


def repairs(one: Look, ways: Container[str], late: bool = False) -> list[str]:
    """Statements that a deployment runs for what no file mends, each once.

    ways: whose statements it runs (``ways_of``). late: those behind the files instead of those before.
    """
    todo = [each for each in one.differences if way(each) in ways and is_late(each) == late]
    found = [whole(one, each, ways) for each in in_turn(todo)]
    return [sql for sql in dict.fromkeys(found) if sql is not None]


def _action(
    one: Look, difference: Difference, at_work: Live, changed: bool, runs: Container[str]
) -> Action:
    """changed: by hand, since the last deployment. runs: ways that a deployment goes."""
    thing, how = difference.thing, difference.how
    how_mended = way(difference)
    sql = "" if how_mended == FILES else whole(one, difference, runs) or ""
    do = _does(difference, how_mended, runs)
    said = told(one, difference) if do in LEFT else str(difference)
    new = how == MISSING and thing.kind not in (*OF_A_TABLE, "contract")
    locks = "" if new else _LOCKS.get(thing.kind, "")
    held = at_work.holders.get(thing.of if thing.kind in OF_A_TABLE else thing.name, [])
    why = HAND if changed else _why(one)
    waits_for = named(held) if locks and do not in LEFT else ""
    return Action(do, thing.kind, str(thing), one.database, why, said, locks, sql, waits_for)


def _does(difference: Difference, how_mended: str, runs: Container[str]) -> str:
    """The verb of an action."""
    kind, how = difference.thing.kind, difference.how
    if how_mended not in runs:
        return "leave" if how in (SINCE, EXCESS) else "by hand"
    if kind == "permission":
        lifted = how == MISSING or (how == CHANGED and difference.found == DENIED)
        return "grant" if how_mended == FILES or lifted else "revoke"
    if how == EXCESS:
        return "drop"
    if kind in _ROWS:
        return "write"
    return "create" if how == MISSING else "alter"


_ROWS = ("setting", "deployment", "mark", "owned object")
"""Kinds that are rows, or properties."""


def _why(one: Look) -> str:
    if not one.installed:
        return NEW
    other = any(difference.thing == Thing("deployment", "last") for difference in one.differences)
    return OTHER_FILES if other else DRIFT
