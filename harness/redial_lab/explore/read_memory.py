"""What a step will read, known from an earlier time when it found everything as it finds it now.

A step's reads follow from what it reads: from its session first, then from one cell after the
other. So they are kept as a tree: at each node the next cell, at each branch how it was found. What
has never been changed in this search need not be looked at; the tree is forgotten when it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.storage import Table
from redial_lab.explore.diverged import Diverged

if TYPE_CHECKING:
    from redial_broker.engine import journal
    from redial_broker.exec.database import Database
    from redial_broker.instance.session import Session
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.conversation import Endpoint
    from redial_lab.explore.cells import Cell
    from redial_lab.explore.effects import Effect
    from redial_lab.explore.world import World


@dataclass(slots=True)
class Reads:
    """What a step reads."""

    cells: int
    """As bits."""
    more: frozenset[Cell]
    """Locks it asked for as more than an intent."""
    effect: Effect | None = field(default=None, compare=False)
    """What it does then, once that was seen."""


class Unsure(Exception):
    """How a cell is found cannot be said in a word: the step is watched every time."""


def code_of(session: Session | None) -> list[Any]:
    """What is compiled of the program a session runs: a statement is when it is first met."""
    return list(session.frames[-1].program.code) if session is not None and session.frames else []


class Known:
    """Reads of steps met before."""

    def __init__(self, world: World, bit: Callable[[Cell], int]) -> None:
        self.world = world
        self.bit = bit
        self.tree: dict[Hashable, Any] = {}  # (cell, branches) or, where it ends, Reads
        self.changing = 0
        self.clock = world.instance.clock
        self.cells = Cells(world)

    def reads(self, session: Session) -> Reads | None:
        """What the next step of a session reads; None when that is not known."""
        node = self.tree.get(self._root(session))
        value = self.cells.value
        while type(node) is tuple:
            try:
                node = node[1].get(value(node[0]))
            except Unsure:
                return None
        return node

    def _root(self, session: Session) -> Hashable:
        """Its own state, what names the conversations it begins, how far its client is, the time,
        and in which order its transaction locked and changed what it did: locks are given back, and
        changes settled, in that order.
        """
        transaction = session.transaction
        return (
            session.id,
            session.stream,
            session.digest or session.hash(),
            self.clock.seconds,
            transaction and (tuple(transaction.locks.items()), tuple(transaction.written)),
            self.world.progress_of(session),
        )

    def keep(self, session: Session, cells: Iterable[Cell], found: Reads) -> None:
        """Remember what a step will read that stands before ``session``. cells: in their order."""
        bit, changing, value = self.bit, self.changing, self.cells.value
        try:
            way = [(cell, value(cell)) for cell in cells if bit(cell) & changing]
        except Unsure:
            return
        place, branch = self.tree, self._root(session)
        for cell, how in way:
            node = place.get(branch)
            if node is None:
                node = place[branch] = (cell, {})
            elif type(node) is not tuple or node[0] != cell:
                raise Diverged(
                    f"session {session.id}: what it reads after the same reads "
                    f"is now {cell}, it was {node}"
                )
            place, branch = node[1], how
        place[branch] = found

    def changed(self, cells: int) -> None:
        """Cells that a step has changed."""
        if cells & ~self.changing:
            self.changing |= cells
            self.tree.clear()


class Cells:
    """How the cells of a world are found: values that are equal where no step sees a difference."""

    def __init__(self, world: World) -> None:
        instance = world.instance
        self.engine, self.registry = instance.engine, instance.registry
        self.brokers = cast(
            "list[Broker]",
            [
                database.broker
                for database in instance.server.databases.values()
                if database.broker is not None
            ],
        )
        self.queues = {
            (queue.object_id, queue.broker.database.id): queue
            for broker in self.brokers
            for queue in broker.queues()
        }
        self.counted = [database.rowversions for database in instance.server.databases.values()]
        tables = [
            table
            for database in instance.server.databases.values()
            for table in database.objects.values()
            if isinstance(table, Table)
        ]
        self.rows = {
            (cast("Database", table.database).id, table.object_id, index.name): index
            for table in tables
            for index in (table.rows, *table.indexes)
        }
        self.tables = {
            (cast("Database", table.database).id, table.object_id, table.name): table
            for table in tables
        }
        self.others: dict[int, journal.Part] = {}
        """Parts whose cells have no other name."""

    def value(self, cell: Cell) -> Hashable:
        """How a cell is found now. Raises Unsure."""
        look = _LOOKS.get(cell[0])
        if look is None:
            raise Unsure
        return look(self, cell)

    def row(self, cell: Cell) -> Hashable:
        """A row with its marks, or all rows."""
        index = self.rows.get(cell[1])
        if index is None:
            raise Unsure
        if len(cell) == 2:
            return index.digest or index.hash()
        key = cell[2]
        writer = index.writers.get(key)
        return (
            repr(index.entries.get(key)),
            writer and (writer[0].owner.id, repr(writer[1])),
            key in index.ghosts,
            index.versions.get(key),
        )

    def lock(self, cell: Cell) -> Hashable:
        """A lock's holders and waiters."""
        if len(cell) == 1:
            raise Unsure
        return _hash(self.engine.locks.resources.get(cell[1]))

    def timer(self, cell: Cell) -> Hashable:
        """When it is due."""
        if len(cell) == 1:
            raise Unsure
        key = cell[1]
        if key[0] == "wait":
            key = "wait", self.registry.sessions.get(key[1])
        return self.engine.timers.entries.get(key)

    def number(self, cell: Cell) -> Hashable:
        """Who has a session number."""
        if len(cell) == 1:
            return tuple(sorted(self.registry.sessions))
        session = self.registry.sessions.get(cell[1])
        return session and session.stream, self.registry.generations.get(cell[1])

    def session(self, cell: Cell) -> Hashable:
        """Another session."""
        session = self.registry.sessions.get(cell[1])
        if session is None:
            return None
        transaction = session.transaction
        return _hash(session), transaction and (
            tuple(transaction.locks.items()),
            tuple(transaction.written),
        )

    def endpoint(self, cell: Cell) -> Hashable:
        """One side of a conversation, or which there are."""
        if len(cell) == 1:
            return tuple(sorted(handle for broker in self.brokers for handle in broker.endpoints))
        return _hash(self._endpoint(cell[1]))

    def inbox(self, cell: Cell) -> Hashable:
        """Its messages."""
        endpoint = self._endpoint(cell[1])
        if endpoint is None:
            return None
        inbox = endpoint.inbox
        place = inbox.ready_key
        return _hash(inbox), place is None, place is not None and place[1] == inbox.oldest()

    def _endpoint(self, handle: str) -> Endpoint | None:
        for broker in self.brokers:
            found = broker.endpoints.get(handle)
            if found is not None:
                return found
        for broker in self.brokers:  # one that is gone: its peer knows it still
            for other in broker.endpoints.values():
                if other.peer is not None and other.peer.handle == handle:
                    return other.peer
        return None

    def group(self, cell: Cell) -> Hashable:
        """A conversation group."""
        return self._named("groups", cell)

    def sender(self, cell: Cell) -> Hashable:
        """Who has something in the transmission queue."""
        if len(cell) == 1:
            return tuple(sorted(handle for broker in self.brokers for handle in broker.senders))
        return any(cell[1] in broker.senders for broker in self.brokers)

    def side(self, cell: Cell) -> Hashable:
        """Which endpoint is one side of a conversation."""
        if len(cell) == 1:
            raise Unsure
        found = [broker.sides.get(cell[1]) for broker in self.brokers]
        return tuple(endpoint and endpoint.handle for endpoint in found)

    def _named(self, mapping: str, cell: Cell) -> Hashable:
        if len(cell) == 1:
            raise Unsure
        return tuple(_hash(getattr(broker, mapping).get(cell[1])) for broker in self.brokers)

    def ready(self, cell: Cell) -> Hashable:
        """A queue's list of what may be received."""
        queue = self.queues.get(cell[1:3])
        if queue is None:
            raise Unsure
        if len(cell) == 3:
            return tuple([(key[0], key[-1]) for key in queue.ready])
        return any(key[-1] == cell[3] for key in queue.ready)

    def monitor(self, cell: Cell) -> Hashable:
        """A queue's monitor."""
        queue = self.queues.get(cell[1:])
        if queue is None:
            raise Unsure
        return _hash(queue.monitor)

    def queue(self, cell: Cell) -> Hashable:
        """A field of the queues of that number."""
        return tuple(
            _plain(getattr(queue, cell[2]))
            for (number, _), queue in self.queues.items()
            if number == cell[1]
        )

    def broker(self, cell: Cell) -> Hashable:
        """A field of the brokers."""
        return tuple(_plain(getattr(broker, cell[2])) for broker in self.brokers)

    def table(self, cell: Cell) -> Any:  # hashable: whatever such a field holds
        """A field of a table."""
        table = self.tables.get(cell[1])
        if table is None:
            raise Unsure
        return getattr(table, cell[2])

    def versions(self, cell: Cell) -> Hashable:
        """Who reads the past."""
        found = self.engine.transactions.versions
        if found.readers:
            raise Unsure
        return found.sequence

    def rowversions(self, cell: Cell) -> Hashable:
        """The last one given out: a row's key may follow from it."""
        return tuple(part.last for part in self.counted if id(part) == cell[1])

    def other(self, cell: Cell) -> Hashable:
        """A part that has no name of its own."""
        return _hash(self.others[cell[1]])

    def nothing(self, cell: Cell) -> Hashable:
        """What no step decides by."""
        return None


def _hash(part: journal.Part | None) -> Hashable:
    return part and (part.digest or part.hash())


def _plain(value: object) -> Hashable:
    if isinstance(value, (dict, list, set)):
        if value:
            raise Unsure
        return ()
    return value


_LOOKS: dict[str, Callable[[Cells, Cell], Hashable]] = {
    "row": Cells.row,
    "lock": Cells.lock,
    "timer": Cells.timer,
    "number": Cells.number,
    "session": Cells.session,
    "endpoint": Cells.endpoint,
    "inbox": Cells.inbox,
    "group": Cells.group,
    "sender": Cells.sender,
    "side": Cells.side,
    "ready": Cells.ready,
    "monitor": Cells.monitor,
    "Queue": Cells.queue,
    "Broker": Cells.broker,
    "table": Cells.table,
    "Versions": Cells.versions,
    "Rowversions": Cells.rowversions,
    "LockManager": Cells.nothing,
    "other": Cells.other,
}
