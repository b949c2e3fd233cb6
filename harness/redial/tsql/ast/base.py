"""What every node of the syntax tree shares: position, children, walking, printing.

Positions are offsets into the batch text (0-based); ``Source`` turns them into the 1-based line and
column that messages carry. Nodes compare by identity, so they can be keys of a program cache;
``structure`` compares two trees by content.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

T = TypeVar("T")

if TYPE_CHECKING:
    F = TypeVar("F", bound=Callable[..., object])

    def cache(function: F) -> F:
        """What mypy sees of the one below: it takes a class for nothing hashable."""
        return function
else:
    from functools import cache


@dataclass_transform(eq_default=False, kw_only_default=False)
def node(cls: type) -> type:
    """Make ``cls`` a syntax tree class: slots, identity comparison, fields by position.

    Nothing is generated that the base class can do for all: there are two hundred of them, and a
    broker should start in a blink.
    """
    return dataclasses.dataclass(slots=True, eq=False, repr=False, match_args=False)(cls)


class _Noted:
    """What is no part of a tree's content."""

    __slots__ = ("notes",)

    notes: dict[Any, Any]  # of any type: a function and what it found
    """See ``noted``; unset until there is one."""


@node
class Node(_Noted):
    """Base of the tree."""

    pos: int
    """Offset of the first character."""
    end: int
    """Offset after the last one."""

    def __repr__(self) -> str:
        """The class and its fields by name, as any dataclass shows them."""
        fields = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields)})"

    def children(self) -> Iterator[Node]:
        """Yield the direct child nodes in field order, those inside lists and tuples included."""
        for name in child_fields(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, (list, tuple)):
                yield from _nodes_in(value)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, parents first, in source order of the fields.

        Iterative: a deep tree does not meet Python's recursion limit.
        """
        stack: list[Node | list[object] | tuple[object, ...]] = [self]
        pop, push = stack.pop, stack.append
        while stack:
            current = pop()
            if isinstance(current, Node):
                yield current
                for name in _backwards(type(current)):
                    below = getattr(current, name)
                    if isinstance(below, (Node, list, tuple)):
                        push(below)
            else:
                stack += [
                    item for item in reversed(current) if isinstance(item, (Node, list, tuple))
                ]


@node
class Statement(Node):
    """Base of statements."""

    if TYPE_CHECKING:
        _: dataclasses.KW_ONLY  # mypy does not read the ``kw_only`` below
    terminated: bool = dataclasses.field(default=False, kw_only=True)
    """A ``;`` follows (it lies behind ``end``)."""


class Expression(Node):
    """Base of what yields a value."""

    __slots__ = ()


class Predicate(Node):
    """Base of what yields true, false or unknown."""

    __slots__ = ()


class TableSource(Node):
    """Base of what may stand in FROM."""

    __slots__ = ()


@node
class Identifier(Expression):
    """One name."""

    text: str
    """Without delimiters, case kept."""
    quoted: bool = False
    """Written with [] or ""."""


@node
class ObjectName(Node):
    """A name of one to four parts."""

    parts: tuple[str, ...]
    """Server, database, schema, object ("" when left out)."""

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1]

    @property
    def schema(self) -> str | None:
        """The schema, None when not given."""
        return self._part(2)

    @property
    def database(self) -> str | None:
        """The database, None when not given."""
        return self._part(3)

    @property
    def server(self) -> str | None:
        """The linked server, None when not given."""
        return self._part(4)

    def _part(self, from_end: int) -> str | None:
        return (self.parts[-from_end] or None) if len(self.parts) >= from_end else None


@node
class Option(Node):
    """``NAME``, ``NAME value``, ``NAME = value`` or ``NAME = value (arguments)`` in a list."""

    name: str
    """Upper case, words joined by one blank."""
    value: Any = None  # its kind depends on the option; who asks for a name knows it
    """None, True/False for ON/OFF, Identifier for a word, ObjectName, Literal, or a list."""
    unit: str | None = None
    """upper-case word or % after a number (SECONDS, MB)."""
    arguments: list[Option] | None = None


@node
class DataType(Node):
    """A type as written."""

    name: ObjectName
    """As written, synonyms of several words replaced (DOUBLE PRECISION is float)."""
    arguments: tuple[int | str | ObjectName, ...] = ()
    """Ints, "MAX", or the schema collection of xml."""
    document: bool | None = None
    """xml(DOCUMENT ..) True, CONTENT False."""


class Source:
    """The text of a batch with its line starts.

    first_line: number of the text's first line in the script it was cut from.
    """

    __slots__ = ("_starts", "first_line", "text")

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.text = text
        self.first_line = first_line
        self._starts: list[int] | None = None

    def line_column(self, offset: int) -> tuple[int, int]:
        """Return the 1-based (line, column) of an offset; the column counts characters."""
        starts = self._line_starts()
        index = bisect_right(starts, offset) - 1
        return self.first_line + index, offset - starts[index] + 1

    def line(self, offset: int) -> int:
        """Return the 1-based line of an offset."""
        return self.first_line + bisect_right(self._line_starts(), offset) - 1

    def slice(self, item: Node) -> str:
        """Return the text a node was parsed from."""
        return self.text[item.pos : item.end]

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            starts = [0]
            find, at = self.text.find, self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self._starts = starts
        return self._starts


@node
class Batch(Node):
    """What the server compiles at once."""

    statements: list[Statement]
    """In order."""
    source: Source
    """Its text and lines."""
    repeat: int = 1
    """The count after GO."""


@cache
def child_fields(cls: type) -> tuple[str, ...]:
    """Return the field names of a node class that may hold nodes."""
    skip = {"pos", "end", "terminated"}
    if cls is Batch:
        skip.add("source")  # the text; elsewhere a source is a node
    return tuple(f.name for f in dataclasses.fields(cls) if f.name not in skip)


@cache
def _backwards(cls: type) -> tuple[str, ...]:
    """The same, last first."""
    return child_fields(cls)[::-1]


def noted(item: Node, find: Callable[[Node], T]) -> T:
    """``find(item)``, worked out once for each node: a tree never changes.

    find: a function of a module, of the tree below the node and nothing else.
    """
    try:
        return item.notes[find]  # type: ignore[no-any-return]  # what ``find`` found
    except AttributeError:
        item.notes = {}
    except KeyError:
        pass
    found = item.notes[find] = find(item)
    return found


def _nodes_in(values: list[object] | tuple[object, ...]) -> Iterator[Node]:
    for value in values:
        if isinstance(value, Node):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _nodes_in(value)


def structure(value: object) -> object:
    """Return nested tuples of class names and field values, without positions, for comparing trees.

    ``terminated`` is left out too: it is layout, not meaning.
    """
    if isinstance(value, Node):
        fields = (structure(getattr(value, name)) for name in child_fields(type(value)))
        return (type(value).__name__, *fields)
    if isinstance(value, (list, tuple)):
        return tuple(structure(item) for item in value)
    return value
