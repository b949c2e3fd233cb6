"""Stops put into the text of a batch or module, and nothing else changed in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from redial.tsql import ast, parse_batch
from redial.tsql.ast.base import Batch, Node, Statement

_VERB = re.compile(r"(CREATE\s+OR\s+ALTER|CREATE|ALTER)\b", re.IGNORECASE)


class NoPlace(ValueError):
    """A stop that no text position stands for."""


def with_stops(source: str, stops: dict[tuple[int, int], list[str]]) -> str:
    """``source`` with lines put before statements. stops: (start, end) of a statement -> lines.

    A statement that is the only one of an IF, ELSE or WHILE gets BEGIN ... END around it; a WHILE
    whose condition is stopped at has the lines at the end of its body too.
    Raises NoPlace for a position that is no statement of this text.
    """
    batch = parse_batch(source)
    inserts: list[tuple[int, str]] = []
    found = set()
    for item, listed in _statements(batch):
        place = (item.pos, item.end)
        if place not in stops or place in found:
            continue
        found.add(place)
        inserts += list(_before(source, item, listed, stops[place]))
    missing = set(stops) - found
    if missing:
        raise NoPlace(f"no statement at offset {min(missing)[0]}")
    for at, text in sorted(inserts, key=lambda insert: insert[0], reverse=True):
        source = source[:at] + text + source[at:]
    return source


def create_or_alter(source: str) -> str:
    """A module's text as CREATE OR ALTER."""
    [module] = parse_batch(source).statements
    head = source[module.pos :]
    return source[: module.pos] + _VERB.sub("CREATE OR ALTER", head, count=1)


def _before(
    source: str, item: Statement, listed: bool, lines: list[str]
) -> Iterator[tuple[int, str]]:
    margin = _margin(source, item.pos)
    text = "".join(f"{line}\n{margin}" for line in lines)
    if listed and source[source.rfind("\n", 0, item.pos) + 1 : item.pos].strip():
        text = f"\n{margin}{text}"
    if listed:
        yield item.pos, text
    else:
        yield item.pos, f"BEGIN\n{margin}{text}"
        yield item.end, f"\n{margin}END"
    if isinstance(item, ast.While):
        calls = "".join(f"\n{margin}{line}" for line in lines)
        body = item.body
        if isinstance(body, ast.Block) and source[body.end - 3 : body.end].upper() == "END":
            yield body.end - 3, f"{calls.removeprefix(chr(10))}\n{margin}"
        else:
            yield body.pos, "BEGIN "
            yield body.end, f";{calls}\n{margin}END"


def _margin(source: str, at: int) -> str:
    line = source[source.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _statements(root: Batch) -> Iterable[tuple[Statement, bool]]:
    """Every statement below, and whether it stands in a list of statements."""
    stack: list[Node] = [root]
    while stack:
        parent = stack.pop()
        for child in parent.children():
            if isinstance(child, Statement):
                yield child, not isinstance(parent, ast.If | ast.While)
            stack.append(child)
