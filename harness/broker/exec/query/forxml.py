"""FOR XML RAW and PATH: the rows of a query as one XML value.

Source: "FOR XML", "Use RAW mode" and "Use PATH mode" pages. AUTO, EXPLICIT, XMLSCHEMA and XMLDATA,
and FOR JSON, are refused by name.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.broker.engine.errors import NotSupported, SqlError
from harness.broker.engine.types import NVARCHAR_MAX, XML, SqlType
from harness.broker.exec.conversion import explicit_conversion
from harness.broker.exec.conversion.rules import group
from harness.broker.exec.query.rowset import QueryColumn, Rowset
from harness.tsql import ast

TEXT_COLUMN = "XML_F52E2B61-18A1-11d1-B105-00805F49916B"
"""Name of the one column of a FOR XML result without TYPE."""

_NIL = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
_CONTENT = frozenset({"*", "text()", "node()", "data()"})
_ISO = 126
Text = Callable[[Any], str]


@dataclass(slots=True)
class Element:
    """An element being put together. parts: finished text, or elements inside."""

    name: str
    attributes: list[tuple[str, str]] = field(default_factory=list)
    parts: list[Any] = field(default_factory=list)

    def write(self) -> str:
        """The element as text."""
        attributes = "".join(f' {name}="{value}"' for name, value in self.attributes)
        inner = "".join(p if isinstance(p, str) else p.write() for p in self.parts)
        if not self.name:
            return inner
        if not inner:
            return f"<{self.name}{attributes}/>"
        return f"<{self.name}{attributes}>{inner}</{self.name}>"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a column's value goes. path: elements on the way; last: @name, content or element."""

    path: tuple[str, ...]
    attribute: str
    text: Text


def for_clause(node: Any, rowset: Rowset, context: Any) -> Rowset:
    """The rowset of one row and one column that FOR XML makes of a query."""
    if not isinstance(node, ast.ForXml):
        name = "FOR JSON" if isinstance(node, ast.ForJson) else "FOR BROWSE"
        raise context.not_supported(node, name)
    if node.mode not in {"RAW", "PATH"}:
        raise context.not_supported(node, f"FOR XML {node.mode}")
    if node.schema is not None:
        raise context.not_supported(node, f"FOR XML with {node.schema}")
    if node.elements == "XSINIL" and node.mode == "PATH":
        raise context.not_supported(node, "FOR XML PATH with ELEMENTS XSINIL")
    row_text = _path(node, rowset, context) if node.mode == "PATH" else _raw(node, rowset, context)
    rows_of, root, position = rowset.rows, node.root, context.program.source.line_column(node.pos)

    def rows(s: Any, v: Any, r: tuple) -> list[tuple]:
        found = rows_of(s, v, r)
        if not found:
            if root is not None:
                raise NotSupported("FOR XML with ROOT over no rows", position)
            return [(None,)] if node.typed else []
        text = "".join([row_text(row) for row in found])
        return [(f"<{root}>{text}</{root}>" if root is not None else text,)]

    of = XML if node.typed else NVARCHAR_MAX
    return Rowset([QueryColumn("" if node.typed else TEXT_COLUMN, of)], rows, rowset.correlated,
                  rowset.paths)


# ---------------------------------------------------------------------- values
def escape(text: str) -> str:
    """Text as element content."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") \
        .replace("\r", "&#x0D;")


def escape_attribute(text: str) -> str:
    """Text as an attribute's value."""
    return escape(text).replace('"', "&quot;").replace("\n", "&#x0A;").replace("\t", "&#x09;")


def _text_of(of: SqlType, context: Any, node: Any) -> Text:
    """How a value of a type reads in XML: dates in ISO form, binary in base64."""
    kind = group(of)
    if kind in {"float", "variant"}:
        raise context.not_supported(node, f"a {of.name} column in FOR XML")
    if kind in {"binary", "rowversion"}:
        return lambda value: b64encode(value).decode()
    if of.is_string or kind == "xml":
        return str
    style = _ISO if kind in {"datetime", "moment", "date", "time"} else None
    return explicit_conversion(of, NVARCHAR_MAX, style)


# ---------------------------------------------------------------------- RAW
def _raw(node: ast.ForXml, rowset: Rowset, context: Any) -> Callable[[tuple], str]:
    """One element per row, columns as attributes, or as elements with ELEMENTS."""
    name = "row" if node.element is None else node.element
    columns = []
    for column in rowset.columns:
        if not column.name:
            raise context.fail(node, SqlError(6809, aborts="scope"))
        if group(column.type) == "binary" and not node.binary_base64:
            raise context.fail(node, SqlError(6829, aborts="scope"))
        columns.append((column.name, _text_of(column.type, context, node),
                        column.type.name == "xml"))
    nil = node.elements == "XSINIL"

    def attributes(row: tuple) -> str:
        element = Element(name)
        for (column, text, is_xml), value in zip(columns, row):
            if value is None:
                continue
            if is_xml:
                element.parts.append(f"<{column}>{value}</{column}>")
            else:
                element.attributes.append((column, escape_attribute(text(value))))
        return element.write()

    def elements(row: tuple) -> str:
        element = Element(name + _NIL) if nil else Element(name)
        for (column, text, is_xml), value in zip(columns, row):
            if value is not None:
                inner = value if is_xml else escape(text(value))
                element.parts.append(f"<{column}>{inner}</{column}>" if inner else f"<{column}/>")
            elif nil:
                element.parts.append(f'<{column} xsi:nil="true"/>')
        written = element.write()
        return written.replace(f"</{name}{_NIL}>", f"</{name}>") if nil else written

    return attributes if node.elements is None else elements


# ---------------------------------------------------------------------- PATH
def _path(node: ast.ForXml, rowset: Rowset, context: Any) -> Callable[[tuple], str]:
    """Column names are paths: @a, a/b, a/@b, text(), *."""
    name = "row" if node.element is None else node.element
    places = [_place(column, context, node) for column in rowset.columns]
    if not name and any(place.attribute and not place.path for place in places):
        raise context.fail(node, SqlError(6864, aborts="scope"))
    for number, place in enumerate(places):
        behind = any(not earlier.attribute and earlier.path[:len(place.path)] == place.path
                     for earlier in places[:number])
        if place.attribute and behind:
            raise context.fail(node, SqlError(6852, rowset.columns[number].name, aborts="scope"))

    def run(row: tuple) -> str:
        top = Element(name)
        for place, value in zip(places, row):
            if value is None:
                continue
            element = _descend(top, place.path)
            if place.attribute:
                element.attributes.append((place.attribute, escape_attribute(place.text(value))))
            else:
                element.parts.append(place.text(value))
        return top.write()

    return run


def _descend(element: Element, path: tuple[str, ...]) -> Element:
    """The element a value belongs into; neighbours with the same beginning share it."""
    for name in path:
        last = element.parts[-1] if element.parts else None
        if not isinstance(last, Element) or last.name != name:
            last = Element(name)
            element.parts.append(last)
        element = last
    return element


def _place(column: QueryColumn, context: Any, node: ast.ForXml) -> Place:
    plain = _text_of(column.type, context, node)
    content: Text = plain if column.type.name == "xml" else lambda value: escape(plain(value))
    if not column.name or column.name in _CONTENT - {"data()"}:
        return Place((), "", content)
    steps = tuple(column.name.split("/"))
    if "" in steps or "data()" in steps:
        raise context.not_supported(node, f"the column name {column.name} in FOR XML PATH")
    last = steps[-1]
    if last.startswith("@"):
        return Place(steps[:-1], last[1:], plain)
    if last in _CONTENT:
        return Place(steps[:-1], "", content)
    return Place(steps, "", content)
