"""AUTO: one element per source, nested in the order of the select list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial_broker.exec.conversion.rules import group
from redial_broker.exec.query.forxml.clause import Clause
from redial_broker.exec.query.forxml.naming import encoded
from redial_broker.exec.query.forxml.rows import attribute_text, field_text
from redial_broker.exec.query.forxml.values import NIL_MARK, content, quoted, text_of
from redial_broker.exec.query.levels import Level, keys_of, levels_of

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.conversion.documents import Text
    from redial_broker.exec.query.forxml.clause import Serialize


def auto(clause: Clause) -> Serialize:
    """The rows as nested elements: a level starts anew when its values change."""
    columns = clause.rowset.columns
    if clause.block is None:
        raise clause.context.not_supported(clause.node, "FOR XML AUTO over a set operation")
    levels = levels_of(clause.block, columns)
    if levels is None:
        raise clause.fail(6800)
    if any(not column.name for column in columns):
        raise clause.fail(6809)
    openers = [
        _opener(clause, level, clause.top if depth == 0 else "")
        for depth, level in enumerate(levels)
    ]
    keys = [
        None if level.single or depth == len(levels) - 1 else keys_of(level, columns)
        for depth, level in enumerate(levels)
    ]
    names = [encoded(level.name) for level in levels]
    return lambda rows: _nested(rows, names, openers, keys)


def _nested(
    rows: list[RowValues], names: list[str], openers: list[Callable[..., Any]], keys: list[Any]
) -> str:
    parts: list[str] = []
    opened: list[Any] = []  # the key of every open level; the last level is never open

    def close(depth: int) -> None:
        while len(opened) > depth:
            opened.pop()
            parts.append(f"</{names[len(opened)]}>")

    last = len(names) - 1
    for row in rows:
        depth = 0
        while depth < len(opened) and keys[depth] is not None and opened[depth] == keys[depth](row):
            depth += 1
        close(depth)
        for level in range(depth, last):
            start, inner = openers[level](row)
            parts.append(f"<{names[level]}{start}>{inner}")
            opened.append(keys[level](row) if keys[level] is not None else object())
        start, inner = openers[last](row)
        parts.append(
            f"<{names[last]}{start}>{inner}</{names[last]}>"
            if inner
            else f"<{names[last]}{start}/>"
        )
    close(0)
    return "".join(parts)


def _opener(clause: Clause, level: Level, top: str) -> Callable[[RowValues], tuple[str, str]]:
    """row -> (attributes, own child elements) of one element of a level."""
    fields: list[tuple[str, int, bool, Text | None, Callable[[RowValues], str] | None]] = []
    for place, ordinal in zip(level.columns, level.ordinals):
        column = clause.rowset.columns[place]
        inside = clause.elements or column.type.name == "xml"
        text = field_text(column) if inside else attribute_text(column)
        if group(column.type) == "binary" and not clause.node.binary_base64:
            address = _address(clause, level, place, ordinal)
            fields.append((encoded(column.name), place, inside, None, address))
        else:
            fields.append((encoded(column.name), place, inside, text, None))
    nil = clause.nil

    def make(row: RowValues) -> tuple[str, str]:
        attributes, inner = [top], []
        for name, place, inside, text, address in fields:
            value = row[place]
            if value is None:
                if nil and inside:
                    inner.append(f"<{name}{NIL_MARK}/>")
                continue
            if address is None:
                assert text is not None
                shown = text(value)
            else:
                shown = (content if inside else quoted)(address(row))
            if inside:
                inner.append(f"<{name}>{shown}</{name}>")
            else:
                attributes.append(f' {name}="{shown}"')
        return "".join(attributes), "".join(inner)

    return make


def _address(clause: Clause, level: Level, place: int, ordinal: int) -> Callable[[RowValues], str]:
    """dbobject/TABLE[@KEY='value']/@COLUMN instead of binary data. 6830 and 6831 without a key."""
    name = clause.rowset.columns[place].name
    table = level.table
    if table is None or ordinal < 0:
        raise clause.fail(6830, name)
    key = next((index for index in (table.rows, *table.indexes) if index.primary), None)
    chosen = []
    for column in key.columns if key is not None else [-1]:
        if column not in level.ordinals:
            raise clause.fail(6831, name)
        at = level.columns[level.ordinals.index(column)]
        chosen.append(
            (encoded(table.columns[column].name), at, text_of(clause.rowset.columns[at].type))
        )
    own = encoded(table.columns[ordinal].name)

    def address(row: RowValues) -> str:
        terms = "%20and%20".join(f"@{key}='{text(row[at])}'" for key, at, text in chosen)
        return f"dbobject/{encoded(table.name)}[{terms}]/@{own}"

    return address
