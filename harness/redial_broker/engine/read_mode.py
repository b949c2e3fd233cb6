"""How a table reference is read: what its isolation level and its table hints come to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redial_broker.engine.errors import SqlError


@dataclass(frozen=True, slots=True)
class ReadMode:
    """How one table reference is read."""

    lock: str | None = "S"
    """None (no row locks), "S", "U" or "X"."""
    hold: bool = False
    """To the end of the transaction."""
    versioned: bool = False
    """Read committed rows without locks (RCSI)."""
    dirty: bool = False
    """Read whatever is there."""
    ranges: bool = False
    """key-range locks."""
    readpast: bool = False
    nowait: bool = False
    snapshot: bool = False
    """Read the rows of the transaction's snapshot; with a lock, lock those that qualify and refuse
    what has changed since."""
    hinted: bool = False
    """U comes from UPDLOCK, not from a change."""
    qualify: bool = False
    """A change looks at committed rows without a lock, and locks those that qualify."""


_ISOLATION = {
    "read uncommitted": ReadMode(lock=None, dirty=True),
    "read committed": ReadMode(),
    "repeatable read": ReadMode(hold=True),
    "serializable": ReadMode(hold=True, ranges=True),
    "snapshot": ReadMode(lock=None, versioned=True, snapshot=True),
}


_LOCKING = {"UPDLOCK", "XLOCK", "READCOMMITTEDLOCK", "TABLOCK", "TABLOCKX"}


def read_mode(
    isolation: str, hints: frozenset[str], *, rcsi: bool, write: bool, optimized: bool = False
) -> ReadMode:
    """The mode of a table reference from the session's isolation level and its upper-case hints.

    write: the reference is the target of an UPDATE or DELETE. optimized: locking is (its page: under
    RCSI a change without hints that lock qualifies rows first). Raises SqlError 650 for READPAST in
    the wrong isolation level (table hints page; the error is raised when the table is read).
    """
    for hint, level in (
        ("NOLOCK", "read uncommitted"),
        ("READUNCOMMITTED", "read uncommitted"),
        ("READCOMMITTED", "read committed"),
        ("REPEATABLEREAD", "repeatable read"),
        ("READCOMMITTEDLOCK", "read committed"),
        ("HOLDLOCK", "serializable"),
        ("SERIALIZABLE", "serializable"),
    ):
        if hint in hints:
            isolation = level
    mode = _ISOLATION[isolation]
    if "READPAST" in hints:
        if isolation not in {"read committed", "repeatable read"}:
            raise SqlError(650)
        mode = replace(mode, readpast=True)
    if write or "UPDLOCK" in hints:
        mode = replace(mode, lock="U", hold=True, dirty=False, hinted=not write)
    if "XLOCK" in hints:
        mode = replace(mode, lock="X", hold=True, dirty=False)
    if (
        rcsi
        and isolation == "read committed"
        and mode.lock == "S"
        and "READCOMMITTEDLOCK" not in hints
    ):
        mode = replace(mode, lock=None, versioned=True, readpast=False)
    if optimized and rcsi and write and isolation == "read committed" and not hints & _LOCKING:
        mode = replace(mode, qualify=True)
    if "NOWAIT" in hints:
        mode = replace(mode, nowait=True)
    return mode
