"""EXPLICIT: the universal table. Column names say where each value goes ("Use EXPLICIT mode")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lxml import etree

from redial_broker.engine.errors import SqlError
from redial_broker.exec.conversion.documents import Text
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.query.forxml.clause import Clause
from redial_broker.exec.query.forxml.values import NIL_MARK, content, quoted, self_closed, text_of
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.xml.nodes import XSI_URI

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.query.forxml.clause import Serialize

_IDENTITIES = frozenset({"id", "idref", "idrefs", "nmtoken", "nmtokens"})
_CONTENTS = frozenset({"element", "elementxsinil", "xml", "xmltext", "cdata"})
_NIL = f' xmlns:xsi="{XSI_URI}"'


@dataclass(frozen=True, slots=True)
class Part:
    """One data column of a tag."""

    place: int
    name: str
    kind: str
    """Attribute, text, element, elementxsinil, xml, cdata, xmltext or hide."""
    text: Text


@dataclass(slots=True)
class Tag:
    """A tag number: its element and the columns that fill it."""

    name: str
    parts: list[Part] = field(default_factory=list)


def explicit(clause: Clause) -> Serialize:
    """Rows open elements: each names its tag and the open tag it belongs under."""
    columns = clause.rowset.columns
    for column in columns:
        if group(column.type) == "binary" and not clause.node.binary_base64:
            raise clause.fail(6829, column.name)
    if len(columns) < 3:
        raise clause.fail(6801)
    for place, (name, number) in enumerate((("TAG", 6803), ("PARENT", 6804))):
        if columns[place].type.name != "int" and not columns[place].untyped:
            raise clause.fail(number)
        if columns[place].name.upper() != name:
            raise clause.fail(6820, place + 1, name, columns[place].name)
    tags: dict[int, Tag] = {}
    for place, column in enumerate(columns[2:], 2):
        _declare(clause, tags, place, column)
    nil = any(part.kind == "elementxsinil" for tag in tags.values() for part in tag.parts)
    if nil and clause.node.root is not None:
        raise clause.context.not_supported(clause.node, "ELEMENTXSINIL with ROOT")
    return lambda rows: _written(rows, tags, _NIL if nil else "")


def _declare(clause: Clause, tags: dict[int, Tag], place: int, column: QueryColumn) -> None:
    """Read one column name: Element!Tag!Attribute!Directive."""
    name, *rest = column.name.split("!")
    if not name or not rest or not rest[0].isdigit() or int(rest[0]) < 1:
        raise clause.fail(6802, column.name)
    number = int(rest[0])
    tag = tags.setdefault(number, Tag(name))
    if tag.name != name:
        raise clause.fail(6812, number, tag.name, name)
    own = rest[1] if len(rest) > 1 else ""
    kind = _kind(clause, column, own, [word.lower() for word in rest[2:]])
    if kind == "xmltext" and any(part.kind == "xmltext" for part in tag.parts):
        raise clause.context.not_supported(clause.node, "two XMLTEXT columns of one tag")
    tag.parts.append(Part(place, own, kind, _text(column, kind)))


def _kind(clause: Clause, column: QueryColumn, own: str, words: list[str]) -> str:
    for word in words:
        if word not in _IDENTITIES | _CONTENTS | {"hide"}:
            raise clause.fail(6824, word)
    contents = [word for word in words if word in _CONTENTS]
    identities = [word for word in words if word in _IDENTITIES]
    if words.count("hide") > 1:
        raise clause.fail(6835, column.name)
    if len(identities) > 1:
        raise clause.fail(6813, column.name)
    if len(contents) > 1:
        raise clause.fail(6817, column.name)
    if "hide" in words:
        if identities:
            raise clause.fail(6815, column.name)
        return "hide"
    if identities and identities[0] in {"idrefs", "nmtokens"}:
        raise clause.context.not_supported(clause.node, f"the directive {identities[0].upper()}")
    if contents:
        return contents[0]
    if not own:
        return "text"
    return "element" if column.type.name == "xml" else "attribute"


def _text(column: QueryColumn, kind: str) -> Text:
    plain = text_of(column.type)
    if kind == "attribute":
        return lambda value: quoted(plain(value))
    if kind in {"xml", "xmltext"} or column.type.name == "xml":
        return plain
    if kind == "cdata":
        return lambda value: f"<![CDATA[{plain(value).replace(']]>', ']]]><![CDATA[]>')}]]>"
    return lambda value: content(plain(value))


def _written(rows: list[RowValues], tags: dict[int, Tag], top: str) -> str:
    out: list[str] = []
    opened: list[tuple[int, str]] = []

    def close(depth: int) -> None:
        while len(opened) > depth:
            out.append(f"</{opened.pop()[1]}>")

    for row in rows:
        number, parent = row[0], row[1]
        _check_row(number, parent, tags)
        depth = 0
        if parent:
            depth = next((i + 1 for i, (n, _) in enumerate(opened) if n == parent), -1)
            if depth < 0:
                raise SqlError(6833, parent)
        if any(n == number for n, _ in opened[:depth]):
            raise SqlError(6805, state=2)
        close(depth)
        tag = tags[number]
        marks, inner = _filled(tag, row)
        out.append(f"<{tag.name}{top if not opened else ''}{marks}>{inner}")
        opened.append((number, tag.name))
    close(0)
    return self_closed("".join(out))


def _check_row(number: int | None, parent: int | None, tags: dict[int, Tag]) -> None:
    if number is None or number < 1:
        raise SqlError(6803, state=2)
    if parent is not None and parent < 0:
        raise SqlError(6804, state=2)
    if number not in tags:
        raise SqlError(6806, number, state=2)
    if parent and parent not in tags:
        raise SqlError(6807, parent, state=2)


def _filled(tag: Tag, row: RowValues) -> tuple[str, str]:
    """(attributes, content) of one element."""
    marks: list[str] = []
    inner: list[str] = []
    for part in tag.parts:
        value = row[part.place]
        if value is None:
            if part.kind == "elementxsinil":
                inner.append(f"<{part.name}{NIL_MARK}/>")
            continue
        write = _WRITERS.get(part.kind)
        if write is not None:
            write(part, part.text(value), marks, inner)
    return "".join(marks), "".join(inner)


def _attribute(part: Part, text: str, marks: list[str], inner: list[str]) -> None:
    marks.append(f' {part.name}="{text}"')


def _inside(part: Part, text: str, marks: list[str], inner: list[str]) -> None:
    inner.append(f"<{part.name}>{text}</{part.name}>" if part.name else text)


def _overflow(part: Part, text: str, marks: list[str], inner: list[str]) -> None:
    """XMLTEXT: the attributes and content of an overflow element."""
    try:
        root = etree.fromstring(text)
    except etree.XMLSyntaxError:
        raise SqlError(6834, part.name, state=2) from None
    start = text.index(">") + 1
    end = text.rfind("</")
    held = "" if text[start - 2] == "/" else text[start:end]
    taken = {mark.split("=")[0].strip() for mark in marks}
    own = "".join(
        f' {name}="{quoted(value)}"'
        for name, value in root.attrib.items()
        if part.name or name not in taken
    )
    if part.name:  # an element of its own: nothing there is taken already
        inner.append(f"<{part.name}{own}>{held}</{part.name}>")
    else:
        marks.append(own)
        inner.append(held)


_WRITERS: dict[str, Callable[[Any, str, list[Any], list[Any]], None]] = {
    "attribute": _attribute,
    "text": _inside,
    "element": _inside,
    "elementxsinil": _inside,
    "xml": _inside,
    "cdata": _inside,
    "xmltext": _overflow,
}
