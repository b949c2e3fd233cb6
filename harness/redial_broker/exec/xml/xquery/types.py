"""Static types of XQuery expressions, as error texts show them.

SQL Server settles from the shape of an expression alone how many items it may yield and of which
type ("XQuery and static typing", "Type system (XQuery)" pages).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from redial_broker.exec.xml.nodes import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, PI, TEXT

ONE, OPTIONAL, SOME, MANY = "1", "?", "+", "*"
"""How many items: exactly one, at most one, at least one, any number."""

_BOUNDS = {ONE: (1, 1), OPTIONAL: (0, 1), SOME: (1, 2), MANY: (0, 2)}
_OF_BOUNDS = {(1, 1): ONE, (0, 1): OPTIONAL, (1, 2): SOME, (0, 2): MANY, (0, 0): OPTIONAL}

NODE, EMPTY = "node", "empty"
STRING, BOOLEAN, UNTYPED = "xs:string", "xs:boolean", "xdt:untypedAtomic"
INTEGER, DECIMAL, DOUBLE, FLOAT = "xs:integer", "xs:decimal", "xs:double", "xs:float"
BASE64, HEX = "xs:base64Binary", "xs:hexBinary"

INTEGERS = frozenset(
    {
        "xs:integer",
        "xs:int",
        "xs:long",
        "xs:short",
        "xs:byte",
        "xs:unsignedByte",
        "xs:unsignedShort",
        "xs:unsignedInt",
        "xs:unsignedLong",
        "xs:nonNegativeInteger",
        "xs:positiveInteger",
        "xs:nonPositiveInteger",
        "xs:negativeInteger",
    }
)
NUMBERS = INTEGERS | {DECIMAL, DOUBLE, FLOAT}
TEXTS = frozenset(
    {
        STRING,
        "xs:anyURI",
        "xs:normalizedString",
        "xs:token",
        "xs:language",
        "xs:Name",
        "xs:NCName",
        "xs:NMTOKEN",
    }
)
MOMENTS = frozenset({"xs:dateTime", "xs:date", "xs:time"})
ATOMIC = (
    NUMBERS
    | TEXTS
    | MOMENTS
    | {
        BOOLEAN,
        UNTYPED,
        BASE64,
        HEX,
        "xs:duration",
        "xs:gYear",
        "xs:gYearMonth",
        "xs:gMonth",
        "xs:gMonthDay",
        "xs:gDay",
        "xs:QName",
        "xs:anySimpleType",
    }
)
NODES = frozenset({ELEMENT, ATTRIBUTE, TEXT, COMMENT, PI, DOCUMENT, NODE})

_DOCUMENT_SHOWN = (
    "document { (element(*,xdt:untyped) ? & text ? & comment ? & processing-instruction ?) * }"
)


@dataclass(frozen=True, slots=True)
class Type:
    """A sequence type."""

    kind: str
    """Of its items."""
    count: str = ONE
    name: str = ""
    content: str = ""
    """name, content: of elements and attributes."""

    @property
    def single(self) -> bool:
        """At most one item."""
        return self.count in {ONE, OPTIONAL} or self.kind == EMPTY

    @property
    def nodes(self) -> bool:
        """Items are nodes."""
        return self.kind in NODES

    def counted(self, count: str) -> Type:
        """The same items in another number."""
        return self if count == self.count else replace(self, count=count)

    def __str__(self) -> str:
        if self.kind == ELEMENT:
            shown = f"element({self.name or '*'},{self.content or 'xdt:untyped'})"
        elif self.kind == ATTRIBUTE:
            shown = f"attribute({self.name or '*'},{self.content or UNTYPED})"
        elif self.kind == DOCUMENT:
            shown = _DOCUMENT_SHOWN
        elif self.kind == NODE:
            shown = "(element(*,xdt:untyped) | text | comment | processing-instruction)"
        else:
            shown = self.kind
        return shown if self.count == ONE or self.kind == EMPTY else f"{shown} {self.count}"


def times(one: str, two: str) -> str:
    """How many items ``two`` yields per item of ``one``, together."""
    (low, high), (low2, high2) = _BOUNDS[one], _BOUNDS[two]
    return _OF_BOUNDS[low * low2, min(2, high * high2)]


def plus(one: str, two: str) -> str:
    """How many items a sequence of both has."""
    (low, high), (low2, high2) = _BOUNDS[one], _BOUNDS[two]
    return _OF_BOUNDS[min(1, low + low2), min(2, high + high2)]


def either(one: str, two: str) -> str:
    """How many items one of both has."""
    (low, high), (low2, high2) = _BOUNDS[one], _BOUNDS[two]
    return _OF_BOUNDS[min(low, low2), max(high, high2)]


def optional(count: str) -> str:
    """The same, or nothing."""
    return OPTIONAL if count in {ONE, OPTIONAL} else MANY


def atomized(of: Type) -> Type:
    """The type of data() over it."""
    if not of.nodes:
        return of
    if of.kind in {COMMENT, PI}:
        return Type(STRING, of.count)
    if of.content and of.content not in {"xdt:untyped", UNTYPED}:
        return Type(of.content, of.count)
    return Type(UNTYPED, of.count)


def union(one: Type, two: Type, count: str) -> Type:
    """The type of items that may be of either type."""
    if one.kind == EMPTY:
        return two.counted(count)
    if two.kind == EMPTY:
        return one.counted(count)
    if one.kind == two.kind:
        name = one.name if one.name == two.name else "*" if one.kind in {ELEMENT, ATTRIBUTE} else ""
        content = one.content if one.content == two.content else ""
        return Type(one.kind, count, name, content)
    if one.nodes and two.nodes:
        return Type(NODE, count)
    if one.kind in NUMBERS and two.kind in NUMBERS:
        return Type(promoted(one.kind, two.kind), count)
    return Type("xdt:anyAtomicType", count)


_RANK = {INTEGER: 0, DECIMAL: 1, FLOAT: 2, DOUBLE: 3}


def numeric(kind: str) -> str:
    """The arithmetic type of an atomic type: untyped counts as double."""
    if kind in INTEGERS:
        return INTEGER
    return kind if kind in NUMBERS else DOUBLE


def promoted(one: str, two: str) -> str:
    """The type an operation over two numbers is done in."""
    one, two = numeric(one), numeric(two)
    return one if _RANK[one] >= _RANK[two] else two


def family(kind: str) -> str:
    """What kinds may be compared with each other: number, text, boolean, or the type itself."""
    if kind in NUMBERS:
        return "number"
    if kind in TEXTS:
        return "text"
    return kind
