"""What a step reads and changes, seen while it runs, in cells small enough to tell rows apart.

Changes are what the journal says. Reads are seen by a look-out (``__getattribute__``) on the classes
of the engine's parts, so no statement's meaning has to be known here. A cell (``cells``) is a row (or
its absence), a lock, a timer, an endpoint ... Many keys of a mapping are read as the whole mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from redial_broker.engine.clock import Timers
from redial_broker.engine.locks import LockManager, Resource
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.transactions import Transaction
from redial_broker.engine.versions import Versions
from redial_broker.exec.session import SessionState
from redial_broker.instance.instance import Registry
from redial_broker.instance.session import Session
from redial_broker.ssb.broker import Broker
from redial_broker.ssb.conversation import Endpoint, Group
from redial_broker.ssb.inbox import Inbox
from redial_broker.ssb.monitor import QueueMonitor
from redial_lab.explore.cells import (
    ASKING,
    BY_FIELD,
    BY_KEY,
    FIXED_OF_SESSION,
    INTENT,
    NOTED,
    WHOLE,
    changing,
    kind_of,
    others,
    uncounted,
)
from redial_lab.explore.progress import Incidents, RecordingSink
from redial_lab.explore.read_memory import Known, Reads, code_of
from redial_lab.explore.scenario import Step
from redial_lab.explore.world import World

if TYPE_CHECKING:
    from redial_broker.engine import locks
    from redial_broker.exec.database import Database
    from redial_lab.explore.cells import Cell

    Watch = Callable[[Any, str], Any]
    """Stands for ``__getattribute__`` of any part: takes it and a name, gives what it has there."""

    Record = tuple[Any, ...]
    """Of the journal: a kind, a part, then what that kind says."""

    State = tuple[dict[Transaction, str], list[locks.Request]]
    """A lock's holders and who waits for it."""

# Any below: a part of whatever class, a key or a value of whatever mapping.
EVERYTHING = -1
"""As a set of cells: all there are."""


class Footprint(NamedTuple):
    """Sets of cells, a bit each."""

    reads: int
    writes: int
    member: int
    """Mappings of which a key was changed."""

    def touches(self, other: Footprint) -> bool:
        """Whether the two steps depend on each other: their order may make a difference."""
        return bool(
            self.writes & (other.reads | other.writes)
            or self.reads & other.writes
            or self.member & other.reads
            or self.reads & other.member
        )

    def __or__(self, other: Footprint) -> Footprint:
        return Footprint(
            self.reads | other.reads, self.writes | other.writes, self.member | other.member
        )


ALL = Footprint(EVERYTHING, EVERYTHING, EVERYTHING)


TABLES = frozenset({Index, Table})


def part_is_private(part: Any) -> bool:
    """Whether a table or index is a table variable's or a #temporary table's: one session's own."""
    get = object.__getattribute__
    table = get(part, "table") if isinstance(part, Index) else part
    return bool(get(table, "temporary")) or get(table, "database") is None


def key_name(mapping: Cell, key: Any) -> Any:
    """What a key is called in a cell: a place in a queue by its conversation, for when that came
    differs between two orders of independent steps; a wait by its session's number, for the session
    itself is another object on another way."""
    if mapping[0] == "ready":
        return key[-1]
    if mapping[0] == "timer" and key[0] == "wait":
        return "wait", key[1].id
    return key


class _View:
    """A mapping that is asked by key, while a look-out stands."""

    __slots__ = ("_look", "_name", "real")

    def __init__(self, look: Lookout, name: Cell, real: Any) -> None:
        self._look, self._name, self.real = look, name, real

    def _one(self, key: Any) -> None:
        self._look.saw((*self._name, key_name(self._name, key)))

    def _all(self) -> Any:
        self._look.saw(self._name)
        return self.real

    def get(self, key: Any, default: Any = None) -> Any:
        self._one(key)
        return self.real.get(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        self._one(key)
        return self.real.pop(key, *default)

    def __getitem__(self, key: Any) -> Any:
        self._one(key)
        return self.real[key]

    def __contains__(self, key: Any) -> bool:
        self._one(key)
        return key in self.real

    def __setitem__(self, key: Any, value: Any) -> None:
        self.real[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.real[key]

    def __bool__(self) -> bool:
        return self._name[0] == "row" or bool(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._all(), name)


class Lookout:
    """Takes steps of a world and says what each read and changed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.bits: dict[Cell, int] = {}
        self.read: dict[Cell, None] = {}
        self.asked: set[tuple[Cell, str]] = set()
        self.own: Session | None = None
        self.tables = {
            id(index): (cast("Database", table.database).id, table.object_id, index.name)
            for database in world.instance.server.databases.values()
            for table in database.objects.values()
            if isinstance(table, Table)
            for index in cast("list[Table | Index]", (table, table.rows, *table.indexes))
        }
        self.sinks = {id(sink): client.id for sink, client in zip(world.sinks, world.clients)}
        self.known = Known(world, self.bit)
        self.kinds: dict[type, type] = {}
        self.unseen: dict[type, frozenset[str]] = {}

    def bit(self, cell: Cell) -> int:
        """The bit of a cell."""
        found = self.bits.get(cell)
        if found is None:
            found = self.bits[cell] = 1 << len(self.bits)
        return found

    def set_of(self, cells: Iterable[Cell]) -> int:
        """Cells as bits."""
        found = 0
        for cell in cells:
            found |= self.bit(cell)
        return found

    # ------------------------------------------------------------------ taking a step
    def saw(self, cell: Cell) -> None:
        """The step under way reads a cell."""
        self.read[cell] = None

    def foresee(self, step: Step) -> Reads | None:
        """What a step will read, where that is known."""
        if step.kind != "run":
            return None
        return self.known.reads(self.world.instance.sessions[step.who])

    def take(self, step: Step, reads: Reads) -> Footprint:
        """Let a step happen of which it is known what it reads; the journal has a mark already."""
        world = self.world
        log = world.journal.log
        start = len(log)
        who = step.who if isinstance(step.who, int) else None
        before = world.progress.memento()
        world.take(step)
        writes: set[Cell] = set() if who is None else {("session", who)}
        member: set[Cell] = set()
        if step.kind == "timer":
            writes.add(("timer", key_name(("timer",), step.who)))
        for entry in log[start:]:
            self._changed(entry, writes, member)
        self._progress(before, writes)
        intents = self._intents(log[start:], writes, reads.more)
        writes.difference_update(intents)
        member.update(intents)
        cells = reads.cells & ~self.set_of(intents)
        found = Footprint(cells, self.set_of(writes), self.set_of(member))
        self.known.changed(found.writes | found.member)
        return found

    def watch(self, step: Step) -> Reads:
        """Let a step happen, watched, and take it back: what it reads."""
        world = self.world
        self.own = world.instance.sessions.get(step.who) if isinstance(step.who, int) else None
        self.read.clear()
        self.asked.clear()
        mark, code = world.journal.mark(), code_of(self.own)
        with self._watching():
            world.take(step)
        world.journal.rewind(mark)
        if code != code_of(self.own):
            return self.watch(step)  # compiling reads more, once
        asked = frozenset(key for key, mode in self.asked if mode not in INTENT)
        found = Reads(self.set_of(self.read), asked)
        if step.kind == "run":
            self.known.keep(cast(Session, self.own), self.read, found)
        return found

    def possible(self, step: Step) -> Footprint:
        """Of a step that only a spent budget forbids: what makes it possible."""
        cells = [
            ("budget", step.kind),
            ("session", step.who)
            if isinstance(step.who, int)
            else ("timer", key_name(("timer",), step.who)),
        ]
        found = self.set_of(cells)
        return Footprint(found, found, 0)

    # ------------------------------------------------------------------ what was changed
    def _changed(self, entry: Record, writes: set[Cell], member: set[Cell]) -> None:
        """Note what one record of the journal changed."""
        kind, part, mapping, key = entry[:4]
        class_ = self._kind(part)
        if isinstance(part, SessionState):
            writes.add(("session", part.id))
        elif isinstance(part, Transaction):
            writes.add(("session", part.owner.id))
        elif isinstance(part, RecordingSink):
            writes.add(("session", self.sinks.get(id(part), 0)))
        elif isinstance(part, Incidents):
            writes.add(("incidents",))
        elif class_ in NOTED or (kind == 1 and key in self.unseen[class_]):
            pass
        elif class_ in WHOLE:
            writes.add(self.whole(part))
        elif isinstance(part, (Index, Table)):
            self._row(kind, part, key, writes, member)
        elif kind == 0 and class_ in BY_KEY:
            self._member(part, mapping, key, writes, member)
        elif kind == 1 and key in BY_FIELD.get(class_, ()):
            writes.add(self.field(part, key))
        else:
            writes.add(self.other(part))

    def _row(self, kind: int, part: Any, key: Any, writes: set[Cell], member: set[Cell]) -> None:
        name = self.tables.get(id(part))
        if name is None:
            if not part_is_private(part):
                writes.add(self.other(part))
        elif isinstance(part, Table):
            known = key in BY_FIELD[Table]
            writes.add(("table", name, key) if known else self.other(part))
        else:
            writes.add(("row", name, key))
            member.add(("row", name))

    def _member(
        self, part: Any, mapping: Any, key: Any, writes: set[Cell], member: set[Cell]
    ) -> None:
        mapping, class_ = getattr(mapping, "real", mapping), self._kind(part)
        for name in BY_KEY[class_]:
            if getattr(part, name) is mapping:
                prefix = self.mapping(part, name)
                writes.add((*prefix, key_name(prefix, key)))
                member.add(prefix)
                return
        for name in BY_FIELD.get(class_, ()):
            if getattr(part, name) is mapping:
                writes.add(self.field(part, name))
                return
        writes.add(self.other(part))

    def _kind(self, part: Any) -> type:
        found = self.kinds.get(type(part))
        if found is None:
            found = self.kinds[type(part)] = kind_of(type(part))
            self.unseen[found] = uncounted(found, self.world.texts.counted)
        return found

    def _progress(self, before: tuple[Any, ...], writes: set[Cell]) -> None:
        """What of the explorer's own notes has changed."""
        now = self.world.progress.memento()
        if now == before:
            return
        clients = self.world.clients
        for old, new in zip(before[:2], now[:2]):
            writes |= {("session", clients[n].id) for n, each in enumerate(new) if each != old[n]}
        for old, new in zip(before[2:4], now[2:4]):
            writes |= {("session", clients[n].id) for n in old ^ new}
        _, _, _, _, firings, left, paused, struck, fired = before
        if (firings, fired) != (now[4], now[8]):
            writes.add(("budget", "timer"))
        writes |= {
            ("budget", fault.kind)
            for fault, old, new in zip(self.world.faults, left, now[5])
            if old != new
        }
        writes |= {("session", who) for who in paused ^ now[6]}
        if struck != now[7]:
            writes.add(("struck",))

    def _intents(self, log: list[Record], writes: set[Cell], more: frozenset[Cell]) -> list[Cell]:
        """Locks that were only ever held or asked for as an intent while the step lasted: their
        holders are in nobody's way but that of one who wants more, so such changes commute.
        """
        resources = self.world.instance.engine.locks.resources
        held = {
            entry[1].key: entry[2]
            for entry in reversed(log)
            if entry[0] == 2 and type(entry[1]) is Resource
        }
        found = []
        for cell in writes:
            if cell[0] != "lock" or len(cell) != 2 or cell[1] in more:
                continue
            now = resources.get(cell[1])
            states = [
                held.get(cell[1]),
                cast("State | None", now and (now.granted, now.waiting)),
            ]
            if all(
                state is None or (INTENT.issuperset(state[0].values()) and not state[1])
                for state in states
            ):
                found.append(cell)
        return found

    # ------------------------------------------------------------------ names of cells
    def other(self, part: Any) -> Cell:
        """The cell of a part that has no name of its own."""
        self.known.cells.others[id(part)] = part  # so that nobody else gets its number
        return ("other", id(part))

    def whole(self, part: Any) -> Cell:
        """The cell of a part that is one."""
        class_ = self._kind(part)
        if class_ is Resource:
            return ("lock", part.key)
        if class_ is Endpoint:
            return ("endpoint", part.handle)
        if class_ is Inbox:
            return ("inbox", part.endpoint.handle)
        if class_ is Group:
            return ("group", part.group_id)
        if class_ is QueueMonitor:
            return ("monitor", part.queue.object_id, part.queue.broker.database.id)
        return (class_.__name__, 0 if class_ is Versions else id(part))

    def mapping(self, part: Any, name: str) -> Cell:
        """The beginning of the cells of a mapping; by itself the cell of all its keys."""
        class_ = self._kind(part)
        if class_ is Index:
            return ("row", self.tables.get(id(part)))
        if class_ is LockManager:
            return ("lock",)
        if class_ is Timers:
            return ("timer",)
        if class_ is Registry:
            return ("number",)
        if class_ is Broker:
            return (name[:-1],)
        return ("ready", part.object_id, part.broker.database.id)

    def field(self, part: Any, name: str) -> Cell:
        """The cell of a field."""
        return (self._kind(part).__name__, getattr(part, "object_id", 0), name)

    # ------------------------------------------------------------------ the look-out
    @contextmanager
    def _watching(self) -> Iterator[None]:
        look = self._watchers()
        try:
            for class_, watch in look.items():
                class_.__getattribute__ = watch  # type: ignore[method-assign, assignment]
            yield
        finally:
            for class_ in look:
                del class_.__getattribute__

    def _watchers(self) -> dict[type, Watch]:
        made = getattr(self, "_made", None)
        if made is None:
            made = {class_: self._of_part(class_, self.whole) for class_ in WHOLE}
            made |= {class_: self._of_part(class_, self.other) for class_ in others()}
            for class_ in {*BY_KEY, *BY_FIELD}:
                made[class_] = self._of_fields(
                    BY_KEY.get(class_, frozenset()), BY_FIELD.get(class_, frozenset()), class_
                )
            made[Session] = self._of_session()
            made[Transaction] = self._of_transaction()
            self._made = made
        return made

    def _seen(self, class_: type) -> frozenset[str]:
        """Fields of a class whose reads are noted."""
        return changing(class_) - uncounted(class_, self.world.texts.counted)

    def _of_part(self, class_: type, cell: Callable[[Any], Cell]) -> Watch:
        get, saw, fields = object.__getattribute__, self.saw, self._seen(class_)

        def watch(part: Any, name: str) -> Any:
            if name in fields:
                saw(cell(part))
            return get(part, name)

        return watch

    def _of_fields(self, by_key: frozenset[str], by_field: frozenset[str], class_: type) -> Watch:
        get, saw = object.__getattribute__, self.saw
        asked, rest = self.asked, self._seen(class_) - by_key - by_field

        def watch(part: Any, name: str) -> Any:
            found = get(part, name)
            if name in rest and not (class_ in TABLES and part_is_private(part)):
                saw(self.other(part))
            if class_ is LockManager and name in ASKING:

                def ask(transaction: Transaction, key: Cell, mode: str, **how: Any) -> Any:
                    asked.add((key, mode))
                    return found(transaction, key, mode, **how)

                return ask
            if name in by_key:
                if class_ is Index and id(part) not in self.tables:
                    if not part_is_private(part):
                        saw(self.other(part))
                    return found
                return _View(self, self.mapping(part, name), found)
            if name in by_field:
                if class_ is Table:
                    if id(part) in self.tables:
                        saw(("table", self.tables[id(part)], name))
                    elif not part_is_private(part):
                        saw(self.other(part))
                else:
                    saw(self.field(part, name))
            return found

        return watch

    def _of_session(self) -> Watch:
        get, saw = object.__getattribute__, self.saw

        def watch(part: Any, name: str) -> Any:
            if part is not self.own and name not in FIXED_OF_SESSION:
                saw(("session", get(part, "id")))
            return get(part, name)

        return watch

    def _of_transaction(self) -> Watch:
        get, saw = object.__getattribute__, self.saw

        def watch(part: Any, name: str) -> Any:
            if name != "owner":
                owner = get(part, "owner")
                if owner is not self.own:
                    saw(("session", get(owner, "id")))
            return get(part, name)

        return watch
