"""What belongs to a state: one declaration per class says what a rewind brings back and what the
state hash covers.

A class declares each of its fields once (``STATE = state(made(...), journaled(...), ...)``). Its
``memento``, ``restore`` and ``content`` are made from that declaration, so neither can forget what
the other knows. A field nobody declared, or one declared twice, is a TypeError when the module is
imported. What is left out of the hash is left out with a reason, which ``explained`` prints.

Definitions (modules, columns, principals ...) are immutable and replaced as a whole, so a rewind
need not know them. ``plain`` shows all of their fields to the hash but those that ``definition``
leaves out, each with its reason too.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing import TypeVar

    _T = TypeVar("_T", bound=type)

# Any below: a field holds whatever its class says, and what is shown of it is for the hash only.
MADE, JOURNALED, SAVED, DERIVED = "made", "journaled", "saved", "derived"
"""How a field changes: never after it was made; one put or assignment of the journal at a time;
inside a part that is saved whole before its first change in a step; whenever the rest does."""

REWINDS = {
    MADE: "never changes",
    JOURNALED: "brought back change by change",
    SAVED: "brought back as it was before the step",
    DERIVED: "follows from the rest",
}

_MARSHAL_VERSION = 2
"""The last one that writes values and nothing of how they are shared in memory."""

_BYTES = 16
"""128 bits: two contents do not share a word by chance (docs/explorer-method.md)."""

SAME = "the machinery around it, the same in every state"
"""Why what a part refers to, to find its way, does not count."""

ATOMS = frozenset({type(None), bool, int, float, str, bytes})
VALUES = (Decimal, datetime, date, time, timedelta, int, float, str, bytes)
"""Plain values that are shown by their ``repr``: it tells two of them apart."""


@dataclass(frozen=True, slots=True)
class Field:
    """Fields of a class that are treated alike."""

    names: tuple[str, ...]
    how: str
    """MADE, JOURNALED, SAVED or DERIVED."""
    show: Callable[[Any], Any] | None = None
    """Makes a plain value of the field's; None where it is one."""
    of: Callable[..., Any] | None = None
    """The same of the whole object, where the field alone does not tell."""
    hidden: str = ""
    """Why it is not in the hash; "" where it is."""
    when: str = ""
    """It is in the hash only where the T-SQL that is searched can read this (``COUNTED``)."""
    entry: Callable[[Any, Any, Any, frozenset[str]], Any] | None = None
    """Of a mapping, where what its show leaves out would be seen in one entry: what a transaction
    that changed it shows of the part, the key, the value it was (``MISSING``), and what counts."""
    copy: Callable[[Any], Any] | None = None
    back: Callable[[Any], Any] | None = None
    """copy, back: to and from the memento; None for what is never changed in place."""
    in_place: bool = False
    """A list that others hold too: it is filled again, not replaced."""
    what: str = ""
    """In words, where no field has a name for it."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something that counts for a state only where T-SQL can read it."""

    why: str
    """Why it does not count otherwise."""
    words: str
    """What a text has in it that reads it, as a regular expression."""


COUNTED: dict[str, Aspect] = {
    "clock": Aspect(
        "what time it is: nothing follows from it for who does not ask",
        r"sys(utc)?datetime(offset)?|get(utc)?date|current_timestamp|\{\s*fn\s+(cur|now)\w*"
        r"|dialog_timer|conversation\s+timer|route|waitfor\s+time",
    ),
    "times": Aspect(
        "when something happened: two orders of independent steps differ in it",
        r"\w+_(date|time|timestamp)(_ms)?|wait_duration_ms|waittime|last_batch|crdate|refdate"
        r"|opentran|sp_who2?|sp_helpdb",
    ),
    "lifetime": Aspect(
        "until when a dialog may live follows from when it was begun",
        r"lifetime(?!\s*=)|conversation\s+timer",
    ),
    "order": Aspect(
        "the order of arrival in a queue, across conversations: two orders of independent sends "
        "differ in it (within a conversation it counts always)",
        r"queuing_order",
    ),
    "rowversions": Aspect(
        "rowversions are given out in the order of changes: two orders of independent changes "
        "differ in them",
        r"@@dbts|min_active_rowversion|rowversion|timestamp",
    ),
    "status": Aspect(
        "why a message was not delivered when that was last tried: it is tried again all the same",
        r"transmission_status|get_transmission_status",
    ),
    "identity": Aspect(
        "which identity an INSERT was given: rows show it, and two orders of inserts differ in it",
        r"scope_identity|@@identity",
    ),
    "counters": Aspect(
        "how often something was done is no state",
        r"dm_os_performance_counters|sysperfinfo",
    ),
    "requests": Aspect(
        "what a session was asked last is no state once it is done",
        r"dm_exec_input_buffer|inputbuffer",
    ),
    "logs": Aspect(
        "what was reported is no state",
        r"\w*p_(read|enum)errorlog\w*|dm_xe_\w+|fn_xe_\w+",
    ),
    "steps": Aspect(
        "how far a session has come among statements that nobody else sees: they are one step. A text "
        "that changes what such a statement uses (a procedure, a type, a right) makes it count, too",
        r"kill|@@dbts|min_active_rowversion|rowversion|timestamp|sysprocesses|sp_who2?|dm_exec_(sessions|requests|connections)"
        r"|dm_tran_(session|active|database|current)_\w+|dm_broker_queue_monitors"
        r"|\w*p_(read|enum)errorlog\w*"
        r"|sp_(add|alter|drop|grant|revoke|rename|bind|unbind|change|settriggerorder)\w*",
    ),
}
"""By name. The explorer looks whether a text of the scenario names one (``explore.counted``)."""


def made(*names: str, **how: Any) -> Field:
    """Fields that are set when the object is made, and never again."""
    return Field(names, MADE, **how)


def journaled(*names: str, **how: Any) -> Field:
    """Fields changed by ``Journal.put`` and ``Journal.assign`` only."""
    return Field(names, JOURNALED, **how)


def saved(*names: str, **how: Any) -> Field:
    """Fields of a part that is saved whole (``Journal.save``) before its first change in a step."""
    return Field(names, SAVED, **how)


def also(what: str, of: Callable[..., Any], when: str) -> Field:
    """More of fields that are declared: it counts where T-SQL can read it."""
    return Field((), MADE, of=of, when=when, what=what)


def derived(*names: str, why: str) -> Field:
    """Caches: neither brought back nor in the hash."""
    return Field(names, DERIVED, hidden=why)


def word(value: Any) -> bytes:
    """128 bits for a plain value, independent of PYTHONHASHSEED."""
    try:
        text = marshal.dumps(value, _MARSHAL_VERSION)
    except ValueError:  # dates, decimals and the like
        text = repr(value).encode()
    return blake2b(text, digest_size=_BYTES).digest()


class State:
    """The declared fields of a class, its bases' included, in their order."""

    def __init__(self, declared: tuple[Field, ...], journal: str = "") -> None:
        self.declared = declared
        self.journal = journal
        """The way from an object to its journal, which knows what counts (``COUNTED``)."""

    def of_class(self, owner: type) -> tuple[Field, ...]:
        """All fields of a class. Raises TypeError when a slot is missing or there twice."""
        found = tuple(
            field
            for base in reversed(owner.__mro__)
            if isinstance(base.__dict__.get("STATE"), State)
            for field in base.__dict__["STATE"].declared
        )
        names = [name for field in found for name in field.names]
        slots = {
            slot
            for base in owner.__mro__
            for slot in base.__dict__.get("__slots__", ())
            if base not in _MACHINERY
        }
        wrong = [f"{name} is declared twice" for name in names if names.count(name) > 1]
        wrong += [f"{name} is no field" for name in sorted(set(names) - slots)]
        wrong += [f"{name} is not declared" for name in sorted(slots - set(names))]
        if "__dict__" in dir(owner):
            wrong.append("it has no __slots__, so nobody knows its fields")
        if wrong:
            raise TypeError(f"state of {owner.__name__}: {'; '.join(dict.fromkeys(wrong))}")
        return found


_BY_NAME: dict[type, dict[str, Field]] = {}


def fields_of(owner: type) -> dict[str, Field]:
    """The declared fields of a class by their names."""
    found = _BY_NAME.get(owner)
    if found is None:
        declared = State(()).of_class(owner)
        found = _BY_NAME[owner] = {name: field for field in declared for name in field.names}
    return found


def state(*declared: Field, journal: str = "") -> State:
    """What a class declares as ``STATE``. journal: the way to it, where something counts only where
    T-SQL can read it."""
    return State(declared, journal)


_MACHINERY: set[type] = set()
"""Classes whose slots are no state: the bases that do the saving and hashing themselves."""

STATES: list[type] = []
"""Every class that declared its state."""


def machinery(owner: _T) -> _T:
    """Class decorator: its own fields are no state."""
    _MACHINERY.add(owner)
    return owner


@machinery
class Stateful:
    """A class with a declared state.

    shown_once: a word for all that never changes of it, worked out when it is first hashed.
    """

    __slots__ = ("shown_once",)
    STATE: ClassVar[State]

    def __init__(self) -> None:
        self.shown_once: bytes | None = None

    def memento(self) -> Any:
        """Everything ``restore`` needs to bring this object back."""
        raise NotImplementedError

    def restore(self, memento: Any) -> None:
        """Put back what ``memento`` returned."""
        raise NotImplementedError

    def content(self) -> Any:
        """Canonical content for the state hash."""
        raise NotImplementedError

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        if cls.__dict__.get("_abstract"):
            return
        declared = State(()).of_class(cls)
        for name, function in _functions(declared, _journal_of(cls)):
            if name in cls.__dict__:
                raise TypeError(f"state of {cls.__name__}: {name} is made from STATE")
            setattr(cls, name, function)
        STATES.append(cls)


def _journal_of(owner: type) -> str:
    """The way from an object of a class to its journal; "" for one that needs none."""
    ways = [base.__dict__["STATE"].journal for base in owner.__mro__ if "STATE" in base.__dict__]
    return next((way for way in ways if way), "")


def _functions(declared: tuple[Field, ...], journal: str) -> Iterator[tuple[str, Any]]:
    """``memento``, ``restore`` and ``content``, written out so that they run like any code."""
    known: dict[str, Any] = {"word": word}
    for number, field in enumerate(declared):
        known |= {
            f"show{number}": field.show,
            f"of{number}": field.of,
            f"copy{number}": field.copy,
            f"back{number}": field.back,
        }
    lines = [*_rewinding(declared), *_hashing(declared, journal)]
    exec("\n".join(lines), known)  # nothing in it but the names of the class' own fields
    return ((name, known[name]) for name in ("memento", "restore", "content"))


def _rewinding(declared: tuple[Field, ...]) -> Iterator[str]:
    kept = [
        (name, number, field)
        for number, field in enumerate(declared)
        if field.how == SAVED
        for name in field.names
    ]
    taken = [f"copy{n}(self.{name})" if f.copy else f"self.{name}" for name, n, f in kept]
    yield "def memento(self):"
    yield f"    return ({''.join(f'{part}, ' for part in taken)})"
    yield "def restore(self, memento):"
    if kept:
        yield f"    ({''.join(f'{name}_, ' for name, _, _ in kept)}) = memento"
    for name, n, field in kept:
        place = f"self.{name}[:]" if field.in_place else f"self.{name}"
        yield f"    {place} = back{n}({name}_)" if field.back else f"    {place} = {name}_"
    yield "    return None"


def _hashing(declared: tuple[Field, ...], journal: str) -> Iterator[str]:
    always: list[str] = []
    once: list[str] = []
    asked: list[tuple[str, str]] = []
    for n, field in enumerate(declared):
        if field.hidden:
            continue
        if field.of is not None:
            parts = [f"of{n}(self)"]
        else:
            parts = [f"show{n}(self.{m})" if field.show else f"self.{m}" for m in field.names]
        if field.when:
            asked += [(field.when, part) for part in parts]
        elif field.how == MADE:
            once += parts
        else:
            always += parts
    yield "def content(self):"
    if once:
        yield "    if self.shown_once is None:"
        yield f"        self.shown_once = word(({''.join(f'{part}, ' for part in once)}))"
        always.insert(0, "self.shown_once")
    yield f"    found = ({''.join(f'{part}, ' for part in always)})"
    if asked and not journal:
        raise TypeError(f"{asked[0][1]} counts sometimes: state(journal=...) has to say who knows")
    if asked:
        yield f"    counted = self.{journal}.counted"
        yield "    if counted:"
    for when, part in asked:
        yield f"        if {when!r} in counted: found += ({part},)"
    yield "    return found"


# ---------------------------------------------------------------------- definitions
DEFINITIONS: dict[type, dict[str, str]] = {}
"""Classes of immutable definitions: which fields are left out of the hash, and why."""


def definition(**left_out: str) -> Callable[[_T], _T]:
    """Class decorator, above ``dataclass``: all its fields count but those named, with reasons."""

    def register(owner: _T) -> _T:
        DEFINITIONS[owner] = left_out
        return owner

    return register


_FIELDS: dict[type, tuple[str, ...]] = {}


def plain(value: Any) -> Any:
    """A value as the hash sees it. Raises TypeError for a class nobody said that of."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is tuple or kind is list:
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return sorted(([plain(k), plain(v)] for k, v in value.items()), key=repr)
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=repr)
    names = _FIELDS.get(kind)
    if names is None:
        names = _FIELDS[kind] = _shown_fields(kind)
    if names:
        return [kind.__name__, *[plain(getattr(value, name)) for name in names]]
    return repr(value)


def _shown_fields(kind: type) -> tuple[str, ...]:
    """Fields of a definition that count; none for what is shown by its name or value."""
    if issubclass(kind, VALUES) or issubclass(kind, Stateful):
        return ()
    if not any(base in DEFINITIONS for base in kind.__mro__):
        raise TypeError(
            f"{kind.__module__}.{kind.__name__}: nobody says what of it counts for the state "
            "(engine.state.definition)"
        )
    left_out = {name for base in kind.__mro__ if base in DEFINITIONS for name in DEFINITIONS[base]}
    if is_dataclass(kind):
        found = [field.name for field in fields(kind)]
    else:
        found = [slot for base in kind.__mro__ for slot in base.__dict__.get("__slots__", ())]
    if unknown := left_out - set(found):
        raise TypeError(f"definition {kind.__name__}: no fields {sorted(unknown)}")
    return tuple(name for name in found if name not in left_out)


def rarely(value: Any) -> Any:
    """The same for what is empty most of the time."""
    return plain(value) if value else None


# ---------------------------------------------------------------------- in words
def explained() -> Iterator[str]:
    """Every declaration, line by line: what a rewind does and whether it counts."""
    for owner in sorted(STATES, key=lambda owner: owner.__name__):
        yield f"{owner.__name__}: {_first_line(owner)}"
        for field in State(()).of_class(owner):
            if field.what:
                yield f"    {field.what}: {_counts(field)}"
                continue
            names = ", ".join(name.lstrip("_") for name in field.names)
            yield f"    {names}: {REWINDS[field.how]}; {_counts(field)}"
    for owner, left_out in sorted(DEFINITIONS.items(), key=lambda item: item[0].__name__):
        yield f"{owner.__name__}: {_first_line(owner)} Replaced as a whole; it counts"
        for name, why in left_out.items():
            yield f"    but not {name}: {why}"


def _counts(field: Field) -> str:
    if field.hidden:
        return f"does not count: {field.hidden}"
    if field.when:
        return f"counts where T-SQL can read it ({field.when}): {COUNTED[field.when].why}"
    words = _in_words(field.of or field.show)
    return f"counts: {words}" if words else "counts"


def _in_words(function: Callable[..., Any] | None) -> str:
    """What a function shows of a field, where that is not all of it."""
    if function is None or function in (plain, rarely) or not isinstance(function, FunctionType):
        return ""
    return " ".join((function.__doc__ or "").split()).partition(". ")[0].rstrip(".")


def _first_line(owner: type) -> str:
    return (owner.__doc__ or "").strip().split("\n")[0]
