"""FOR JSON PATH and AUTO ("Format query results as JSON with FOR JSON" pages, F-223)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import NVARCHAR_MAX
from redial_broker.exec.conversion.documents import Text
from redial_broker.exec.functions.jsontext import json_string
from redial_broker.exec.functions.jsonvalues import is_json, json_writer
from redial_broker.exec.query.levels import Level, keys_of, levels_of
from redial_broker.exec.query.rowset import QueryColumn, Rowset

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.query.blocks import Block
    from redial_broker.exec.session import SessionState

    Objects = Callable[[list[RowValues]], list[str]]

TEXT_COLUMN = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B"
"""Name of the one column of a FOR JSON result."""


def for_json(node: ast.ForJson, rowset: Rowset, context: Context, block: Block | None) -> Rowset:
    """The rowset of one row and one column that FOR JSON makes of a query."""

    def fail(number: int, *args: object) -> SqlError:
        error: SqlError = context.fail(node, SqlError(number, *args, aborts="scope"))
        return error

    if node.root is not None and node.without_array_wrapper:
        raise fail(13620)
    columns = rowset.columns
    for column in columns:
        if not column.name:
            raise fail(13605)
    ready = (
        [is_json(item.node) for item in block.items]
        if block is not None
        else [False] * len(columns)
    )
    writers = [str if done else json_writer(column.type) for done, column in zip(ready, columns)]
    if node.mode == "PATH":
        objects = _path(node, columns, writers, fail)
    else:
        objects = _auto(node, columns, writers, block, fail, context)
    rows_of, root = rowset.rows, node.root

    def count_and_text(
        session: SessionState, variables: Values, row: RowValues
    ) -> tuple[int, str | None]:
        found = rows_of(session, variables, row)
        if not found:
            return 0, None
        text = ",".join(objects(found))
        if not node.without_array_wrapper:
            text = f"[{text}]"
        return len(found), text if root is None else f"{{{json_string(root)}:{text}}}"

    def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        _, text = count_and_text(session, variables, row)
        return [] if text is None else [(text,)]

    made = Rowset([QueryColumn(TEXT_COLUMN, NVARCHAR_MAX)], rows, rowset.correlated, rowset.paths)
    made.streamed = count_and_text
    return made


# ---------------------------------------------------------------------- PATH
def _path(
    node: ast.ForJson,
    columns: list[QueryColumn],
    writers: list[Text],
    fail: Callable[..., SqlError],
) -> Objects:
    """Dots in names make objects inside objects."""
    tree: dict[str, Any] = {}
    latest: list[str] = []
    for place, column in enumerate(columns):
        steps = column.name.split(".")
        if "" in steps:
            raise fail(13603, column.name)
        inner = tree
        for depth, step in enumerate(steps[:-1]):
            held = inner.get(step)
            reopened = held is not None and latest[: depth + 1] != steps[: depth + 1]
            if isinstance(held, int) or reopened:
                raise fail(13601, column.name)
            inner = inner.setdefault(step, {})
        if steps[-1] in inner:
            raise fail(13601, column.name)
        inner[steps[-1]] = place
        latest = steps
    nulls = node.include_null_values

    def write(shape: dict[str, Any], row: RowValues) -> str:
        parts = []
        for name, held in shape.items():
            if isinstance(held, int):
                value = row[held]
                if value is not None or nulls:
                    shown = "null" if value is None else writers[held](value)
                    parts.append(f"{json_string(name)}:{shown}")
            else:
                inner = write(held, row)
                if inner != "{}" or nulls:
                    parts.append(f"{json_string(name)}:{inner}")
        return "{" + ",".join(parts) + "}"

    return lambda rows: [write(tree, row) for row in rows]


# ---------------------------------------------------------------------- AUTO
def _auto(
    node: ast.ForJson,
    columns: list[QueryColumn],
    writers: list[Text],
    block: Block | None,
    fail: Callable[..., SqlError],
    context: Context,
) -> Objects:
    if block is None:
        raise context.not_supported(node, "FOR JSON AUTO over a set operation")
    levels = levels_of(block, columns)
    if levels is None:
        raise fail(13600)
    nulls = node.include_null_values
    keys = [None if level.single else keys_of(level, columns) for level in levels]

    def own(level: Level, row: RowValues) -> list[str]:
        return [
            f"{json_string(columns[place].name)}:"
            f"{'null' if row[place] is None else writers[place](row[place])}"
            for place in level.columns
            if row[place] is not None or nulls
        ]

    def nested(rows: list[RowValues], depth: int) -> list[str]:
        level = levels[depth]
        if depth == len(levels) - 1:
            return ["{" + ",".join(own(level, row)) + "}" for row in rows]
        found, start = [], 0
        while start < len(rows):
            end = start + 1
            key = keys[depth]
            while key is not None and end < len(rows) and key(rows[end]) == key(rows[start]):
                end += 1
            inner = ",".join(nested(rows[start:end], depth + 1))
            parts = own(level, rows[start])
            parts.append(f"{json_string(levels[depth + 1].name)}:[{inner}]")
            found.append("{" + ",".join(parts) + "}")
            start = end
        return found

    return lambda rows: nested(rows, 0)
