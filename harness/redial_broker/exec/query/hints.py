"""Table hints: which are known, which contradict each other, what they mean for locks.

Source: "Table hints" page of the T-SQL reference; error numbers from the errors-events pages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from redial.tsql import ast
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.read_mode import ReadMode, read_mode

if TYPE_CHECKING:
    from redial_broker.exec.context import Context

differs(
    "page locks and heap rows",
    "There are rows and tables and no pages: ROWLOCK asks for what happens anyway, "
    "PAGLOCK is refused, sys.dm_tran_locks shows no PAGE, RID or IU.",
)

LEVELS = frozenset(
    {
        "NOLOCK",
        "READUNCOMMITTED",
        "READCOMMITTED",
        "READCOMMITTEDLOCK",
        "REPEATABLEREAD",
        "SERIALIZABLE",
        "HOLDLOCK",
    }
)
"""Hints that set the isolation level of one table reference; only one may be given."""

LOCKING = frozenset(
    {
        "UPDLOCK",
        "XLOCK",
        "ROWLOCK",
        "PAGLOCK",
        "TABLOCK",
        "TABLOCKX",
        "READPAST",
        "NOWAIT",
    }
)
ACCESS = frozenset({"INDEX", "FORCESEEK", "FORCESCAN"})
WITHOUT_EFFECT = frozenset({"ROWLOCK"})
"""The embedded broker always locks rows, so asking for rows changes nothing."""

DIRTY = frozenset({"NOLOCK", "READUNCOMMITTED"})
_WRITES = frozenset({"UPDLOCK", "XLOCK", "TABLOCKX"})


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints of one table reference."""

    names: frozenset[str] = frozenset()
    index: str | int | None = None
    """The name or number given, None without INDEX."""
    seek: bool = False
    scan: bool = False
    """seek, scan: FORCESEEK, FORCESCAN."""
    columns: tuple[str, ...] = ()
    """Those FORCESEEK (index (columns)) must search by."""


NO_HINTS = Hints()


@dataclass(frozen=True, slots=True)
class LockPlan:
    """How a reference is locked under one isolation level."""

    mode: ReadMode
    table: str
    """Mode of the object lock."""
    short: bool
    """It is given back at the end of the statement."""


def parse_hints(
    nodes: list[ast.TableHint] | None, context: Context, *, target: bool = False
) -> Hints:
    """The hints of a reference. target: it is what an INSERT, UPDATE or DELETE names as its target.

    Raises 1047 for conflicting hints, 1065 for NOLOCK and 1069 for an index hint on a target,
    10724, 10745 to 10748 for FORCESEEK and FORCESCAN where they may not stand, NotSupported for
    hints the embedded broker does not know.
    """
    names: set[str] = set()
    index: str | int | None = None
    columns: tuple[str, ...] = ()
    for node in nodes or []:
        name = node.name
        if name == "PAGLOCK" or name not in LEVELS | LOCKING | ACCESS:
            raise context.not_supported(node, f"table hint {name}")  # there are no pages
        if name == "FORCESEEK" and name in names:
            raise context.fail(node, SqlError(10748, aborts="scope"))
        names.add(name)
        if name == "INDEX":
            if len(node.arguments) != 1:
                raise context.not_supported(node, "several indexes in one hint")
            index = _index_name(node.arguments[0], context)
        elif name == "FORCESEEK" and node.arguments:
            if index is not None or "INDEX" in names:
                raise context.fail(node, SqlError(10747, aborts="scope"))
            index = _index_name(node.arguments[0], context)
            named = cast("list[ast.Identifier]", node.arguments[1:])
            columns = tuple(part.text.lower() for part in named)
    if columns and "INDEX" in names:
        raise SqlError(10747, aborts="scope")
    _refuse_conflicts(names, target)
    return Hints(
        frozenset(names - ACCESS), index, "FORCESEEK" in names, "FORCESCAN" in names, columns
    )


def _index_name(node: ast.Node, context: Context) -> str | int:
    if isinstance(node, ast.Literal) and node.kind == "int" and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Identifier):
        return node.text
    if isinstance(node, ast.ColumnRef):
        return node.parts[-1]
    raise context.not_supported(node, "this form of an INDEX hint")


def _refuse_conflicts(names: set[str], target: bool) -> None:
    levels = {"SERIALIZABLE" if n == "HOLDLOCK" else n for n in names & LEVELS}
    levels = {"NOLOCK" if n == "READUNCOMMITTED" else n for n in levels}
    if len(levels) > 1:
        raise SqlError(1047, aborts="scope")
    if names & DIRTY and names & (LOCKING - {"NOWAIT"}):
        raise SqlError(1047, aborts="scope")
    if len(names & {"ROWLOCK", "PAGLOCK", "TABLOCK", "TABLOCKX"}) > 1:
        raise SqlError(1047, aborts="scope")
    if len(names & {"UPDLOCK", "XLOCK"}) > 1:
        raise SqlError(1047, aborts="scope")
    if target and names & DIRTY:
        raise SqlError(1065, aborts="scope")
    if {"FORCESEEK", "FORCESCAN"} <= names:
        raise SqlError(10746, aborts="scope")
    for name, number in (("INDEX", 1069), ("FORCESEEK", 10724), ("FORCESCAN", 10745)):
        if target and name in names:
            raise SqlError(number, aborts="scope")


def lock_plan(
    isolation: str,
    hints: Hints,
    *,
    rcsi: bool,
    write: bool,
    key_only: bool = False,
    optimized: bool = False,
) -> LockPlan:
    """Row and table locks of a reference. key_only: its WHERE is exactly the clustered key.
    optimized: the switch optimized_locking.

    Raises 650 for READPAST where the isolation level forbids it; a write by nothing but its
    clustered key is let through (observed).
    """
    names = hints.names
    if (
        key_only
        and write
        and "READPAST" in names
        and isolation not in {"read committed", "repeatable read"}
    ):
        names = names - {"READPAST"}
    mode = read_mode(isolation, names, rcsi=rcsi, write=write, optimized=optimized)
    if key_only and write:
        # A write whose only condition is a seek of the clustered key asks for X at once.
        mode = replace(mode, lock="X")
    if "TABLOCKX" in names or (
        "TABLOCK" in names and (write or "UPDLOCK" in names or "XLOCK" in names)
    ):
        return LockPlan(_under_table_lock(mode), "X", False)
    if "TABLOCK" in names and not mode.dirty and not mode.versioned:
        return LockPlan(_under_table_lock(mode), "S", not mode.hold)
    if mode.lock in {"U", "X"}:
        return LockPlan(mode, "IX", False)
    if mode.lock == "S":
        return LockPlan(mode, "IS", not mode.hold)
    return LockPlan(mode, "Sch-S", True)


def _under_table_lock(mode: ReadMode) -> ReadMode:
    """Whoever holds the whole table needs no row locks to read it; a snapshot is still one."""
    if mode.snapshot:
        return mode
    return ReadMode(lock=None, dirty=True, nowait=mode.nowait)
