"""RAW and PATH: one element per row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.exec.conversion.documents import Text
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.query.forxml.clause import Clause
from redial_broker.exec.query.forxml.naming import check, encoded
from redial_broker.exec.query.forxml.values import NIL_MARK, content, quoted, text_of
from redial_broker.exec.query.rowset import QueryColumn

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.query.forxml.clause import Serialize

_CONTENT = frozenset({"*", "node()", "text()", "data()"})


@dataclass(slots=True)
class Element:
    """An element being put together."""

    name: str
    attributes: list[tuple[str, str]] = field(default_factory=list)
    parts: list[Any] = field(default_factory=list)
    """Finished text, or elements inside."""
    nil: bool = False
    stays: bool = False
    """Written even when nothing was put into it."""
    atoms: bool = False
    """Its last part is a data() value."""

    def write(self, top: str = "") -> str:
        """The element as text. top: attributes that come first."""
        if not self.name:
            return "".join(p if isinstance(p, str) else p.write(top) for p in self.parts)
        attributes = top + "".join(f' {name}="{value}"' for name, value in self.attributes)
        if self.nil and not self.parts:
            attributes += NIL_MARK
        if not self.parts:
            return f"<{self.name}{attributes}/>"
        inner = "".join(p if isinstance(p, str) else p.write() for p in self.parts)
        return f"<{self.name}{attributes}>{inner}</{self.name}>"


def field_text(column: QueryColumn) -> Text:
    """The value of an element-centric column: markup for xml, else escaped text."""
    if column.type.name == "xml":
        return str
    plain = text_of(column.type)
    return lambda value: content(plain(value))


def attribute_text(column: QueryColumn) -> Text:
    """The value of an attribute."""
    plain = text_of(column.type)
    return lambda value: quoted(plain(value))


# ---------------------------------------------------------------------- RAW
def raw(clause: Clause) -> Serialize:
    """One element per row, columns as attributes, or as elements with ELEMENTS."""
    node = clause.node
    name = "row" if node.element is None else node.element
    if not name and not clause.elements:
        raise clause.fail(6864)
    columns = [_raw_column(clause, column) for column in clause.rowset.columns]
    named = [column for column, _, inside in columns if not inside]
    for column in named:
        if named.count(column) > 1:
            raise clause.fail(6810, column)
    nil, top = clause.nil, clause.top

    def one(row: RowValues) -> str:
        element = Element(name)
        for (column, text, inside), value in zip(columns, row):
            if value is None:
                if nil and inside and column:
                    element.parts.append(f"<{column}{top if not name else ''}{NIL_MARK}/>")
            elif not inside:
                element.attributes.append((column, text(value)))
            elif column:
                start = f"{column}{top}" if not name else column
                element.parts.append(f"<{start}>{text(value)}</{column}>")
            else:
                element.parts.append(text(value))
        return element.write(top)

    return lambda rows: "".join([one(row) for row in rows])


def _raw_column(clause: Clause, column: QueryColumn) -> tuple[str, Text, bool]:
    """(name, text, whether it stands inside the element) of a column."""
    is_xml = column.type.name == "xml"
    if group(column.type) == "binary" and not clause.node.binary_base64:
        raise clause.fail(6829, column.name)
    inside = clause.elements or is_xml
    if not column.name and not inside:
        raise clause.fail(6809)
    return encoded(column.name), field_text(column) if inside else attribute_text(column), inside


# ---------------------------------------------------------------------- PATH
@dataclass(frozen=True, slots=True)
class Place:
    """Where a column's value goes."""

    path: tuple[str, ...]
    """Elements on the way."""
    kind: str
    """Attribute, element, text, data, comment or instruction."""
    name: str
    """Of the attribute or the target."""
    text: Text


def path(clause: Clause) -> Serialize:
    """Column names are paths: @a, a/b, a/@b, text(), data(), *, comment() ..."""
    name = "row" if clause.node.element is None else clause.node.element
    known = {prefix for prefix in clause.prefixes if prefix}
    try:
        places = [_place(column, known) for column in clause.rowset.columns]
    except SqlError as error:
        raise clause.context.fail(clause.node, error) from None
    _check_order(clause, name, places)
    nil, top = clause.nil, clause.top

    def one(row: RowValues) -> str:
        element = Element(name)
        for place, value in zip(places, row):
            if value is not None:
                _put(element, place, place.text(value))
            elif nil and place.kind in {"element", "text", "data"}:
                _descend(element, place.path).nil = True
        return element.write(top)

    return lambda rows: "".join([one(row) for row in rows])


def _check_order(clause: Clause, name: str, places: list[Place]) -> None:
    """6864: an attribute of nothing; 6852: one behind content; 6810: one twice."""
    for number, place in enumerate(places):
        if place.kind != "attribute":
            continue
        alias = clause.rowset.columns[number].name
        if not name and not place.path:
            raise clause.fail(6864)
        earlier = places[:number]
        if any(
            e.kind == "attribute" and (e.path, e.name) == (place.path, place.name) for e in earlier
        ):
            raise clause.fail(6810, alias)
        if any(e.kind != "attribute" and e.path[: len(place.path)] == place.path for e in earlier):
            raise clause.fail(6852, alias)


def _put(top: Element, place: Place, text: str) -> None:
    element = _descend(top, place.path)
    if place.kind == "attribute":
        element.attributes.append((place.name, text))
        return
    if place.kind == "data" and element.atoms:
        text = f" {text}"
    element.parts.append(text)
    element.atoms = place.kind == "data"


def _descend(element: Element, steps: tuple[str, ...]) -> Element:
    """The element a value belongs into; neighbours with the same beginning share it."""
    for name in steps:
        last = element.parts[-1] if element.parts else None
        if not isinstance(last, Element) or last.name != name:
            last = Element(name)
            element.parts.append(last)
            element.atoms = False
        element = last
    return element


def _place(column: QueryColumn, known: set[str]) -> Place:
    name = column.name
    if not name:
        return Place((), "text", "", field_text(column))
    steps = name.split("/")
    if "" in steps:
        raise SqlError(6849, name, aborts="scope")
    *before, last = steps
    for step in before:
        check(step, "Column", known, name)
    found = _last(column, last, known)
    if found is not None:
        return Place(tuple(before), *found)
    check(last, "Column", known, name)
    return Place(tuple(steps), "element", "", field_text(column))


def _last(column: QueryColumn, last: str, known: set[str]) -> tuple[str, str, Text] | None:
    """(kind, name, text) of a last step that is no element's name."""
    is_xml, name = column.type.name == "xml", column.name
    if last.startswith("@"):
        check(last[1:] if last != "@" else last, "Column", known, name)
        if is_xml:
            raise SqlError(6851, name, aborts="scope")
        return "attribute", last[1:], attribute_text(column)
    if last in _CONTENT:
        if is_xml and last in {"text()", "data()"}:
            raise SqlError(6853, name, aborts="scope")
        return ("data" if last == "data()" else "text"), "", field_text(column)
    plain = text_of(column.type)
    if last == "comment()":
        if is_xml:
            raise SqlError(6853, name, aborts="scope")
        return "comment", "", lambda value: f"<!--{_comment(plain(value))}-->"
    if last.startswith("processing-instruction(") and last.endswith(")"):
        target = last[len("processing-instruction(") : -1]
        _check_target(target, name, is_xml)
        return "instruction", target, lambda value: f"<?{target} {plain(value)}?>"
    return None


def _check_target(target: str, name: str, is_xml: bool) -> None:
    if is_xml:
        raise SqlError(6853, name, aborts="scope")
    if not target:
        raise SqlError(6854, name, aborts="scope")
    if target == "xml":
        raise SqlError(6879, aborts="scope")
    check(target.replace(":", " "), "", set(), name)


def _comment(text: str) -> str:
    if "--" in text or text.endswith("-"):
        raise SqlError(9322, "", state=2 if "--" in text else 3)
    return text
