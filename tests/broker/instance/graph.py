"""Everything an instance holds, as plain text by path: finds state that no journal knows of."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from redial.tsql.ast.base import Node
from redial_broker.engine.journal import Journal
from redial_broker.exec.program import Program
from redial_broker.instance.instance import Instance
from redial_broker.instance.results import Collector
from redial_broker.instance.text_cache import TextCache

BORING = (Program, TextCache, Journal, Collector, Node)
"""Made of texts that do not change, or what a client keeps."""

NOT_STATE = {
    "_heap",  # of the timers: rebuilt from the entries
    "_changes",
    "_listed",
    "_order",
    "digest",
    "saved_step",  # of hashing, and interned options
    "changes",  # counts puts and never goes back: only its being equal means anything
    "range_locks",  # makes inserts look at gaps; looking for nothing changes nothing
    "looked_up",
    "_queues",  # what the last compilation named; worked out from the definitions
    "_ready",
    "_known",
    "_gone",
    "_page_cache",
    "input_buffer",
    "statement_started",
}


def picture(root: Any) -> dict[str, str]:
    """path -> text of every value that can be reached from ``root``, each object once."""
    found: dict[str, str] = {}
    seen: dict[int, str] = {}
    keep: list[Any] = []  # so that no id is given out twice
    todo = deque([("", root)])
    while todo:
        path, item = todo.popleft()
        if item is None or isinstance(item, str | bytes | int | float | bool):
            found[path] = repr(item)
            continue
        if callable(item) or isinstance(item, BORING):
            continue
        if id(item) in seen:
            found[path] = f"see {seen[id(item)]}"
            continue
        seen[id(item)] = path
        keep.append(item)
        children = list(_children(item))
        if not children:
            found[path] = _plain(item)
        todo.extend((f"{path}/{name}", child) for name, child in children)
    return found


def _plain(item: Any) -> str:
    """Text of a value without children; an object without a text of its own by its class."""
    return type(item).__name__ if " at 0x" in repr(item) else repr(item)


def _children(item: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, Mapping):
        pairs = sorted(((_key(key), value) for key, value in item.items()), key=lambda p: p[0])
        yield from pairs
    elif isinstance(item, list | tuple | deque):
        yield from ((str(n), child) for n, child in enumerate(item))
    elif isinstance(item, set | frozenset):
        yield "members", sorted(_key(member) for member in item)
    elif type(item).__module__.startswith("redial"):
        names = {name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())}
        names |= set(getattr(item, "__dict__", ()))
        yield from (
            (name, getattr(item, name)) for name in sorted(names - NOT_STATE) if hasattr(item, name)
        )


def _key(key: Any) -> str:
    """A mapping's key as text; objects by what they are called."""
    if isinstance(key, tuple):
        return "(" + ", ".join(_key(part) for part in key) + ")"
    if " at 0x" in repr(key):
        return f"{type(key).__name__} {getattr(key, 'name', getattr(key, 'id', ''))}"
    return repr(key)


def digests(instance: Instance) -> list[bytes]:
    """Every part's own, worked out anew: equal lists mean equal states."""
    parts = instance.parts()
    for part in parts:
        part.digest = None
    return [part.hash() for part in parts]
