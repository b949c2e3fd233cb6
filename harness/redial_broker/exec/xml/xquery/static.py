"""What is known while an XQuery text is compiled, and what an expression is when it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.meter import Meter
from redial_broker.exec.xml.nodes import DOCUMENT, XML_URI, XSI_URI, Node
from redial_broker.exec.xml.xquery.types import Type
from redial_broker.exec.xml.xquery.values import Item

BUILT_IN = {
    "xml": XML_URI,
    "xs": "http://www.w3.org/2001/XMLSchema",
    "xsi": XSI_URI,
    "xdt": "http://www.w3.org/2004/07/xpath-datatypes",
    "fn": "http://www.w3.org/2004/07/xpath-functions",
    "sqltypes": "http://schemas.microsoft.com/sqlserver/2004/sqltypes",
    "sql": "urn:schemas-microsoft-com:xml-sql",
}
"""Prefixes every XQuery text knows ("XQuery prolog" page)."""


_ENV = 4
"""What an environment counts, in rows."""


class Env:
    """What an expression sees while it runs.

    item, position, size: the focus; variables: name -> items; outside: values of sql:variable() and
    sql:column() by key; meter: counts what is bound and focused on.
    """

    __slots__ = ("item", "meter", "outside", "position", "size", "variables")

    def __init__(
        self,
        item: Item,
        position: int,
        size: int,
        variables: Mapping[str, list[Item]],
        outside: Mapping[str, list[Item]],
        meter: Meter,
    ) -> None:
        self.meter = meter
        self.item, self.position, self.size = item, position, size
        self.variables, self.outside = variables, outside

    def focus(self, item: Item, position: int, size: int) -> Env:
        """The same with another focus."""
        meter = self.meter
        meter.left -= _ENV
        if meter.left < 0:
            meter.look()
        return Env(item, position, size, self.variables, self.outside, meter)

    def bind(self, name: str, items: list[Item]) -> Env:
        """The same with one more variable."""
        meter = self.meter
        meter.left -= _ENV
        if meter.left < 0:
            meter.look()
        variables = {**self.variables, name: items}
        return Env(self.item, self.position, self.size, variables, self.outside, meter)


Run = Callable[[Env], list[Any]]
"""Items. Any: whether they are nodes or atomic values the type of the expression says."""

WHOLE = Type(DOCUMENT)
"""Static type of a whole xml value, which a text works on unless it is told otherwise."""


@dataclass(slots=True)
class Expression:
    """A compiled expression."""

    type: Type
    """Its static type."""
    run: Run
    """Its items."""
    constructed: bool = False
    """They come from a constructor, which hardly any operation accepts (2373)."""
    literal: Any = None
    """The constant it was written as."""
    last: bool = False
    """It is ``last()``."""
    empty: bool = False
    """Written ``()``."""


Typing = Callable[[str, str], tuple[str, bool] | None]
"""(kind, local name) -> (simple type or "", occurs at most once) where a schema collection knows
the name, else None."""


@dataclass
class Static:
    """The static context."""

    label: str
    """What brackets show, for example ``value()``."""
    namespaces: dict[str, str]
    """Prefix -> uri."""
    default: str = ""
    """Of unprefixed elements."""
    written: dict[str, str] = field(default_factory=dict)
    """Prefixes of the prolog, for serialization."""
    variables: dict[str, Type] = field(default_factory=dict)
    constructed: set[str] = field(default_factory=set)
    focus: Type = WHOLE
    filtering: bool = False
    outside: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Key -> (kind, name) of the SQL values used; resolve(kind, name) -> static type of such a
    value."""
    resolve: Callable[[str, str], Type] | None = None
    typing: Typing | None = None
    """What a schema collection says of names, nillable: of an element."""
    nillable: Callable[[Node], bool] | None = None
    xml_allowed: bool = False
    """An SQL value may be xml, which only the content of an insert may."""

    def error(self, number: int, *args: object) -> SqlError:
        """An XQuery error: its text begins with the method it belongs to."""
        return SqlError(number, f"XQuery [{self.label}]: ", *args, aborts="scope")

    def refuse(self, construct: str) -> NotSupported:
        """What the server has and this evaluator has not."""
        return NotSupported(f"XQuery {construct} in {self.label}")

    def uri(self, prefix: str) -> str:
        """The namespace of a prefix; 2229 when it is not declared."""
        found = self.namespaces.get(prefix)
        if found is None:
            raise self.error(2229, prefix)
        return found

    @contextmanager
    def focused(self, of: Type, filtering: bool = True) -> Any:
        """Compile with another focus: the predicates of a step."""
        before = self.focus, self.filtering
        self.focus, self.filtering = of, filtering
        try:
            yield
        finally:
            self.focus, self.filtering = before

    @contextmanager
    def scoped(self) -> Any:
        """Compile with variables and namespaces that go away afterwards."""
        before = self.variables, self.constructed, self.namespaces, self.default
        self.variables, self.constructed = dict(self.variables), set(self.constructed)
        self.namespaces = dict(self.namespaces)
        try:
            yield
        finally:
            self.variables, self.constructed, self.namespaces, self.default = before

    def single(self, expr: Expression, what: str, of: Type | None = None) -> None:
        """Raise 2389 when an expression may yield more than one item."""
        shown = of or expr.type
        if not shown.single:
            raise self.error(2389, what, shown)

    def opaque(self, expr: Expression, what: str) -> None:
        """Raise 2373 when constructed XML is given to an operation that does not take it."""
        if expr.constructed:
            raise self.error(2373, what)


def root_of(node: Node) -> Node:
    """The document node above a node."""
    while node.parent is not None:
        node = node.parent
    return node
