"""The one journal: every change as an undo record.

The same records serve statement, savepoint and transaction rollback (a transaction keeps those of
its own changes) and the explorer's rewind (while ``recording`` is on, everything goes to one log,
compensations included). State is dictionaries and attributes of ``Part`` objects, so two kinds of
record suffice for data; small volatile parts (lock entries, sessions) are saved whole, once a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.state import Stateful, machinery, word

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import TypeVar

    from redial_broker.engine.transactions import Transaction

    _K = TypeVar("_K")
    _V = TypeVar("_V")

# Any: it stands where a value of any type could.
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING", "__slots__": ()})()
"""Stands for "no such key" in undo records; never a value."""

_PUT, _ASSIGN, _RESTORE = range(3)


@machinery
class Part(Stateful):
    """A piece of the instance's state that is hashed and rewound as a unit.

    What is rewound and what is hashed follows from each subclass' ``STATE``. The content is a
    nested tuple of plain values that is equal for equal states. Any: a memento is for its own
    part's ``restore`` only, and a content for the hash.
    """

    __slots__ = ("changes", "digest", "saved_step")
    _abstract = True

    def __init__(self) -> None:
        self.shown_once = None
        self.changes = 0
        """How many entries were put so far, rewound or not: equal means nothing was put since."""
        self.digest: bytes | None = None
        self.saved_step = -1

    def __repr__(self) -> str:
        """The same in every run: what is hashed may hold parts (undo records, keys of timers)."""
        for name in ("handle", "group_id", "name", "id", "key"):
            found = getattr(self, name, None)
            if found is not None:
                return f"{type(self).__name__} {found}"
        return type(self).__name__

    def hash(self) -> bytes:
        """Digest of ``content``, cached until the part changes (independent of PYTHONHASHSEED)."""
        if self.digest is None:
            self.digest = word(self.content())
        return self.digest


class Journal:
    """Applies changes and remembers how to undo them.

    log: undo records (kind, part, what is changed, its key, the old value, the part's digest).
    counted: what counts for the state hash beside what always does (``state.COUNTED``).
    """

    __slots__ = ("counted", "log", "recording", "step")

    def __init__(self) -> None:
        self.recording = False
        self.log: list[tuple[Any, ...]] = []
        self.step = 0
        self.counted: frozenset[str] = frozenset()

    def put(
        self,
        transaction: Transaction | None,
        part: Part,
        mapping: MutableMapping[_K, _V],
        key: _K,
        value: _V,
    ) -> None:
        """Set ``mapping[key]`` (or delete it when value is MISSING), undoably.

        Raises SqlError 3930 in a doomed transaction: nothing may be logged there.
        """
        old = mapping.get(key, MISSING)
        if old is MISSING and value is MISSING:
            return
        if transaction is not None:
            if transaction.doomed:
                raise SqlError(3930)
            if self.recording:
                self.save(transaction)
            transaction.undo.append((_PUT, part, mapping, key, old))
        if self.recording:
            self.log.append((_PUT, part, mapping, key, old, part.digest))
            part.digest = None
        part.changes += 1
        if value is not MISSING:
            mapping[key] = value
        elif old is not MISSING:
            del mapping[key]

    def assign(self, transaction: Transaction | None, part: Part, name: str, value: Any) -> None:
        """Set attribute ``name`` of ``part``, undoably."""
        old = getattr(part, name)
        if transaction is not None:
            if transaction.doomed:
                raise SqlError(3930)
            if self.recording:
                self.save(transaction)
            transaction.undo.append((_ASSIGN, part, part, name, old))
        if self.recording:
            self.log.append((_ASSIGN, part, part, name, old, part.digest))
            part.digest = None
        setattr(part, name, value)

    def save(self, part: Part) -> None:
        """Save ``part`` whole before its first change in this step (only while recording)."""
        if self.recording and part.saved_step != self.step:
            part.saved_step = self.step
            self.log.append((_RESTORE, part, part.memento(), None, None, part.digest))
        part.digest = None

    def undo(self, transaction: Transaction, mark: int = 0) -> None:
        """Take back a transaction's changes down to ``mark``; itself journaled for a rewind."""
        undo = transaction.undo
        if self.recording:
            self.save(transaction)
        while len(undo) > mark:
            kind, part, target, key, old = undo.pop()
            if kind == _PUT:
                self.put(None, part, target, key, old)
            else:
                self.assign(None, part, key, old)

    # ------------------------------------------------------------------ explorer
    def mark(self) -> int:
        """A point to rewind to; starts a new step."""
        self.step += 1
        return len(self.log)

    def rewind(self, mark: int) -> None:
        """Bring every part back to the moment of ``mark``."""
        log = self.log
        while len(log) > mark:
            kind, part, target, key, old, digest = log.pop()
            if kind == _PUT:
                if old is not MISSING:
                    target[key] = old
                else:
                    target.pop(key, None)
            elif kind == _ASSIGN:
                setattr(target, key, old)
            else:
                part.restore(target)
            part.digest = digest
        self.step += 1
