"""What a queue holds for one conversation.

Numbered messages arrive in order from one sender, who holds its group's lock until it commits, and
leave in order under the receiver's group lock: so what others cannot see yet is always a tail
(from ``settled``, of ``writer``) and what was received but not committed always a head (up to
``head``). A RECEIVE of any number of messages is one assignment. Timers and Error rows jump the
order and stand apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.journal import MISSING, Part
from redial_broker.engine.state import also, journaled, made, state
from redial_broker.engine.switches import silent

if TYPE_CHECKING:
    from typing import TypeVar

    from redial_broker.ssb.needs import ReadyKey, Stored

    _K = TypeVar("_K")
    from collections.abc import Iterator

    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.conversation import Endpoint

TIMER, FAULT = 0, 1
"""Ranks of special rows: DialogTimer comes before Error, both before numbered messages
(broker-system-messages page)."""

Message = tuple  # type: ignore[type-arg]  # ``needs.Stored`` says of what
"""(queuing_order, message_sequence_number, MessageType, body, enqueue time in clock seconds)."""


def _handle(endpoint: Endpoint) -> str:
    return endpoint.handle


def owner_of(transaction: Transaction | None) -> int:
    """Whose transaction: a session's id, 0 for nobody's."""
    return transaction.owner.id if transaction is not None else 0


def _rows(rows: dict[int, Stored]) -> list[tuple[int, int, str, bytes | None]]:
    """Messages in the conversation's own order."""
    return [(place, row[1], row[2].name, row[3]) for place, row in sorted(rows.items())]


def _specials(special: dict[tuple[int, int], tuple[Stored, Transaction | None]]) -> Any:
    if not special:
        return None
    return [
        (rank, row[1], row[2].name, row[3], owner_of(owner))
        for (rank, _), (row, owner) in sorted(special.items())
    ]


def _kept(kept: dict[int, Stored]) -> Any:
    """What RETENTION keeps, in the order it came."""
    if not kept:
        return None
    return [(row[1], row[2].name, row[3]) for _, row in sorted(kept.items())]


def _message(row: Stored, counted: frozenset[str]) -> tuple[Any, ...]:
    """A message by itself: when and in which order it came only where T-SQL can read that."""
    order = row[0] if "order" in counted else None
    return row[1], row[2].name, row[3], order, row[4] if "times" in counted else None


def _row_entry(inbox: Inbox, place: int, row: Stored, counted: frozenset[str]) -> Any:
    return place, row is not MISSING and _message(row, counted)


def _special_entry(inbox: Inbox, key: tuple[int, int], old: Any, counted: frozenset[str]) -> Any:
    """By its rank: those of one rank are taken in the order in which they came."""
    if old is MISSING:
        return key[0]
    return key[0], _message(old[0], counted), owner_of(old[1])


def _kept_entry(inbox: Inbox, order: int, row: Stored, counted: frozenset[str]) -> Any:
    return row is not MISSING and _message(row, counted)


def _settled(inbox: Inbox) -> int:
    """From where on rows are the writer's; without one it says nothing."""
    return inbox.settled if inbox.writer is not None else 0


def _cut(inbox: Inbox) -> Any:
    """Which rows END has found: it makes a difference only where it leaves others."""
    if inbox.cut is None or inbox.tail <= inbox.cut:
        return None
    leaves = silent(inbox.endpoint.broker.engine, "end_over_open_send") == "leaves"
    return (inbox.cut, inbox.left) if leaves else None


def _all_rows(inbox: Inbox) -> list[Stored]:
    """Every message, in an order that does not depend on when it came."""
    return [
        *(row for _, row in sorted(inbox.rows.items())),
        *(row for _, (row, _) in sorted(inbox.special.items())),
        *(row for _, row in sorted(inbox.kept.items())),
        *(row for _, row in sorted(inbox.sent.items())),
    ]


def _moments(inbox: Inbox) -> list[float]:
    return [row[4] for row in _all_rows(inbox)]


def _orders(inbox: Inbox) -> list[int]:
    return [row[0] for row in _all_rows(inbox)]


class Inbox(Part):
    """Messages of one endpoint.

    rows: place in the order of arrival -> message (the place is its sequence number, unless END
    has dropped some before it); base: the lowest place still there; head: the next to be received;
    tail: the next to arrive. special: (rank, order) -> (message, transaction that may
    still undo it or None). kept and sent: what RETENTION keeps, by queuing order. ready_key: where
    the queue's ready list has this inbox. cut: set by END, the first number it has not found.
    left: this side has ended for good, and rows from ``cut`` on have stayed (F-455).
    """

    __slots__ = (
        "base",
        "cut",
        "endpoint",
        "head",
        "kept",
        "left",
        "ready_key",
        "rows",
        "sent",
        "settled",
        "special",
        "tail",
        "writer",
    )
    STATE = state(
        made("endpoint", show=_handle),
        journaled("base", "head", "tail"),
        journaled("rows", show=_rows, entry=_row_entry),
        journaled("special", show=_specials, entry=_special_entry),
        journaled("kept", "sent", show=_kept, entry=_kept_entry),
        journaled("settled", of=_settled),
        journaled("writer", show=owner_of),
        journaled("cut", "left", of=_cut),
        journaled("ready_key", hidden="the queue's ready list may name too many"),
        also("when messages came", _moments, "times"),
        also("the order in which they came to the queue", _orders, "order"),
        journal="endpoint.broker.engine.journal",
    )

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self.endpoint = endpoint
        self.rows: dict[int, Stored] = {}
        self.special: dict[tuple[int, int], tuple[Stored, Transaction | None]] = {}
        self.kept: dict[int, Stored] = {}
        self.sent: dict[int, Stored] = {}
        self.base = self.head = self.tail = self.settled = 0
        self.writer: Transaction | None = None
        self.ready_key: ReadyKey | None = None
        self.cut: int | None = None
        self.left = False

    @property
    def ended(self) -> bool:
        """Whether this side has ended, so that nothing of it can be received."""
        return bool(self.endpoint.own) and not self.left

    def __repr__(self) -> str:
        """By its endpoint."""
        return f"Inbox {self.endpoint.handle}"

    def end(self, transaction: Transaction | None, own: bool = True) -> int:
        """The first number ``transaction`` cannot see. own: its own uncommitted ones count."""
        if self.writer is None or (own and self.writer is transaction):
            return self.tail
        return self.settled

    def visible_special(
        self, transaction: Transaction | None, own: bool = True
    ) -> list[tuple[int, int]]:
        """Keys of the special rows a transaction may receive, in order."""
        return sorted(
            key
            for key, (_, writer) in self.special.items()
            if writer is None or (own and writer is transaction)
        )

    def readable(self, transaction: Transaction | None, own: bool = True) -> bool:
        """Whether there is something to receive for ``transaction``."""
        if self.ended:
            return False
        return self.head < self.end(transaction, own) or bool(
            self.special and self.visible_special(transaction, own)
        )

    def stored(self) -> Iterator[tuple[int, Stored, Transaction | None]]:
        """(status, message, open transaction that put it there or None) of every row.

        Rows a transaction has received or ended away, but not committed, are still here.
        """
        head, settled, writer = self.head, self.settled, self.writer
        for _, (message, owner) in sorted(self.special.items()):
            yield 1, message, owner
        for sequence in sorted(self.rows):
            hidden = writer if writer is not None and sequence >= settled else None
            yield (0 if sequence < head else 1), self.rows[sequence], hidden
        for message in self.kept.values():
            yield 0, message, None
        for message in self.sent.values():
            yield 3, message, None

    def oldest(self) -> int | None:
        """Queuing order of the first row not yet received; None without one."""
        first = self.rows.get(self.head)
        orders = [message[0] for message, _ in self.special.values()]
        if first is not None:
            orders.append(first[0])
        return min(orders, default=None)

    def settle_received(self) -> None:
        """A transaction that received here has committed: its rows go, unless retained."""
        queue = self.endpoint.service.queue
        if self.base == self.head or (queue.retention and not self.left):
            return
        journal = self.endpoint.broker.engine.journal
        rows = self.rows
        if journal.recording:
            for sequence in range(self.base, self.head):
                journal.put(None, self, rows, sequence, MISSING)
            journal.assign(None, self, "base", self.head)
            return
        for sequence in range(self.base, self.head):
            rows.pop(sequence, None)
        self.base = self.head

    def clear(self) -> None:
        """The conversation is over: nothing stays."""
        self._drop(self.rows, list(self.rows))
        self._drop_others()

    def clear_to_cut(self) -> None:
        """The conversation is over: only rows that END has not found stay, to be received."""
        assign, cut = self.endpoint.broker.engine.journal.assign, self.cut
        self._drop(self.rows, [sequence for sequence in self.rows if sequence < cut])  # type: ignore[operator]
        self._drop_others()
        for name in ("base", "head"):
            assign(None, self, name, cut)
        assign(None, self, "left", True)

    def _drop_others(self) -> None:
        for mapping in cast("tuple[dict[Any, Any], ...]", (self.special, self.kept, self.sent)):
            self._drop(mapping, list(mapping))

    def _drop(self, mapping: dict[_K, Any], keys: list[_K]) -> None:
        for key in keys:
            self.endpoint.broker.engine.journal.put(None, self, mapping, key, MISSING)
