"""AUTO mode of FOR XML and FOR JSON: one level of nesting per source.

"Use AUTO mode with FOR XML" and "Format nested JSON output with AUTO mode" pages; the finer rules:
F-222.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.storage import Table
from redial_broker.exec.expressions.comparison import key_of

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.query.blocks import Block
    from redial_broker.exec.query.sources import Source


@dataclass(slots=True)
class Level:
    """One level."""

    name: str
    columns: list[int]
    """Places in the output row."""
    ordinals: list[int]
    table: Table | None = None
    """ordinals, table: of a stored table's columns, -1 for computed ones."""
    single: bool = False
    """Equal neighbours are never one element (xml has no equality)."""


def levels_of(block: Block, columns: list[Any]) -> list[Level] | None:
    """The levels of a block, in the order of each source's first column; None without FROM."""
    sources = block.from_.sources
    if not sources:
        return None
    by_source: dict[int, Level] = {}
    waiting: list[int] = []
    last: Level | None = None
    for place, item in enumerate(block.items):
        found = block.from_.names.one(item.node) if isinstance(item.node, ast.ColumnRef) else None
        if found is None:
            if last is None:
                waiting.append(place)
            else:
                last.columns.append(place)
                last.ordinals.append(-1)
            continue
        source, ordinal = found
        level = by_source.get(id(source))
        if level is None:
            level = by_source[id(source)] = Level(_name(source), [], [], source.table)
        level.columns.append(place)
        level.ordinals.append(ordinal)
        last = level
    found_levels = list(by_source.values()) or [Level(_name(sources[0]), [], [], sources[0].table)]
    # What is computed ahead of every column belongs to the first level, in front.
    found_levels[0].columns[:0] = waiting
    found_levels[0].ordinals[:0] = [-1] * len(waiting)
    for level in found_levels:
        level.single = any(columns[place].type.name == "xml" for place in level.columns)
    return found_levels


def _name(source: Source) -> str:
    """The alias, else the object as FROM wrote it."""
    name: str = source.alias or source.qualifiers[-1]
    return name


def keys_of(level: Level, columns: list[Any]) -> Callable[[RowValues], RowValues]:
    """row -> what decides whether two neighbouring rows share an element of this level."""
    parts = [(place, key_of(columns[place].type)) for place in level.columns]
    return lambda row: tuple(
        [
            row[place] if key is None or row[place] is None else key(row[place])
            for place, key in parts
        ]
    )
