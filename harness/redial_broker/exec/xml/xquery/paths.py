"""Steps of a path: axes, node tests and predicates ("Path expressions" pages)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from redial_broker.exec.xml.nodes import ATTRIBUTE, DOCUMENT, ELEMENT, Node
from redial_broker.exec.xml.xquery.operators import condition
from redial_broker.exec.xml.xquery.static import Env, Expression, Run, Static, root_of
from redial_broker.exec.xml.xquery.types import (
    BOOLEAN,
    EMPTY,
    MANY,
    NODE,
    NUMBERS,
    ONE,
    OPTIONAL,
    Type,
    times,
)
from redial_broker.exec.xml.xquery.values import number

AXES = frozenset({"child", "descendant", "parent", "attribute", "self", "descendant-or-self"})
"""Axes the server has ("Specifying axis in a path expression step")."""

REFUSED_AXES = frozenset(
    {
        "ancestor",
        "ancestor-or-self",
        "following",
        "following-sibling",
        "preceding",
        "preceding-sibling",
    }
)


@dataclass(frozen=True, slots=True)
class NodeTest:
    """What a step of a path lets pass."""

    kind: str
    """Of the nodes that pass ("node" for any)."""
    name: str | None = None
    """None for any; a processing instruction's target."""
    uri: str | None = None
    """None for any."""
    shown: str = ""
    """The name as the path writes it."""

    def filter(self) -> Callable[[list[Node]], list[Node]]:
        """The nodes of a list that pass."""
        kind, name, uri = self.kind, self.name, self.uri
        if kind == NODE:
            return lambda nodes: nodes
        if name is None and uri is None:
            return lambda nodes: [n for n in nodes if n.kind == kind]
        if uri is None:
            return lambda nodes: [n for n in nodes if n.kind == kind and n.name == name]
        if name is None:
            return lambda nodes: [n for n in nodes if n.kind == kind and n.uri == uri]
        return lambda nodes: [
            n for n in nodes if n.name == name and n.kind == kind and n.uri == uri
        ]


def _descend(node: Node) -> list[Node]:
    return list(node.walk())


_AXIS: dict[str, Callable[[Node], list[Node]]] = {
    "child": lambda node: node.children,
    "attribute": lambda node: node.attributes,
    "self": lambda node: [node],
    "parent": lambda node: [] if node.parent is None else [node.parent],
    "descendant": _descend,
    "descendant-or-self": lambda node: [node, *node.walk()],
}


def context(static: Static) -> Expression:
    """``.``"""
    return Expression(static.focus.counted(ONE), lambda env: [env.item])


def document(static: Static) -> Expression:
    """``/`` on its own."""
    return Expression(Type(DOCUMENT), lambda env: [root_of(cast("Node", env.item))])


Filter = Callable[[Env, list[Any]], list[Any]]
"""A predicate: (env, items) -> the items it keeps."""


def step(
    base: Expression, axis: str, test: NodeTest, of: Type, predicates: list[tuple[Filter, bool]]
) -> Expression:
    """One axis step from every node of ``base``, each with its own predicates.

    of: what ``step_type`` says; predicates: (filter, whether it leaves at most one).
    """
    count = OPTIONAL if any(narrow for _, narrow in predicates) else of.count
    run = _run_step(base, axis, test, [keep for keep, _ in predicates])
    return Expression(of.counted(times(base.type.count, count)), run)


_POINTER_BYTES = 16


def _run_step(base: Expression, axis: str, test: NodeTest, filters: list[Filter]) -> Run:
    walk, keep, inner = _AXIS[axis], test.filter(), base.run

    def run(env: Env) -> list[Node]:
        nodes = inner(env)
        found: list[Node] = []
        tick = env.meter.tick
        for node in nodes:
            passed = walk(node)
            tick(1 + len(passed), found, _POINTER_BYTES)
            passed = keep(passed)
            for each in filters:
                passed = each(env, passed)
            found += passed
        return found if len(nodes) < 2 and axis != "parent" else ordered(found)

    return run


def ordered(nodes: list[Node]) -> list[Node]:
    """In document order, each once."""
    if all(one.order < two.order for one, two in pairwise(nodes)):
        return nodes
    unique = {id(node): node for node in nodes}
    return sorted(unique.values(), key=lambda node: node.order)


def step_type(static: Static, expr: Expression, axis: str, test: NodeTest) -> Type:
    """The static type of a step from one node. 2373 from constructed XML, 2374 from no node."""
    static.opaque(expr, "'/'")
    base = expr.type
    if not base.nodes and base.kind != EMPTY:
        raise static.error(2374, "'/'")
    if axis == "parent":
        return Type(ELEMENT if test.kind in {NODE, ELEMENT} else test.kind, OPTIONAL, "*")
    if axis == "self":
        if test.kind == NODE:
            return base.counted(ONE)
        return Type(test.kind, OPTIONAL, test.shown)
    if test.kind not in {ELEMENT, ATTRIBUTE}:
        return Type(test.kind, MANY)
    content, count = "", MANY
    if (
        base.kind == DOCUMENT
        and axis == "child"
        and static.typing
        and (static.typing(DOCUMENT, "") or ("", False))[1]
    ):
        count = OPTIONAL
    if axis == "attribute" and test.name is not None:
        count = OPTIONAL
    known = static.typing(test.kind, test.name) if static.typing and test.name else None
    if known is not None:
        content = known[0]
        if known[1] and axis == "child" and base.kind != DOCUMENT:
            count = OPTIONAL
    return Type(test.kind, count, test.shown or "*", content)


# ---------------------------------------------------------------------- predicates
def predicate(static: Static, expr: Expression) -> tuple[Filter, bool]:
    """(filter, whether it leaves at most one item); 2203 for a type that is no condition."""
    of, run = expr.type, expr.run
    if expr.last:
        return (lambda env, items: items[-1:]), True
    if of.kind in NUMBERS and of.single:
        if isinstance(expr.literal, int):
            place = expr.literal
            if place < 1:
                return (lambda env, items: []), True
            return (lambda env, items: items[place - 1 : place]), True
        return _positional(run), expr.literal is not None
    if (of.kind == BOOLEAN and of.single) or of.nodes or of.kind == EMPTY or expr.constructed:
        return _tested(condition(static, expr)), False
    raise static.error(2203, of)


def _positional(run: Run) -> Filter:
    def keep(env: Env, items: list[Any]) -> list[Any]:
        size, found = len(items), []
        for place, item in enumerate(items, 1):
            wanted = run(env.focus(item, place, size))
            if wanted and number(wanted[0]) == place:
                found.append(item)
        return found

    return keep


def _tested(test: Callable[[Env], bool]) -> Filter:
    def keep(env: Env, items: list[Any]) -> list[Any]:
        size = len(items)
        return [item for place, item in enumerate(items, 1) if test(env.focus(item, place, size))]

    return keep


def filtered(base: Expression, predicates: list[tuple[Filter, bool]]) -> Expression:
    """Predicates behind a primary: they see the whole sequence."""
    of, run = base.type, base.run
    for keep, narrow in predicates:
        of = of.counted(OPTIONAL if narrow else times(of.count, OPTIONAL))
        run = _chained(run, keep)
    return Expression(of, run)


def _chained(run: Run, keep: Filter) -> Run:
    return lambda env: keep(env, run(env))


def mapped(static: Static, base: Expression, inner: Expression) -> Expression:
    """``base/(inner)``: a parenthesised step, evaluated once per node."""
    static.opaque(base, "'/'")
    if not inner.type.nodes:
        raise static.error(2374, "'/'")
    first, second = base.run, inner.run

    def run(env: Env) -> list[Node]:
        nodes = first(env)
        size = len(nodes)
        return ordered(
            [
                found
                for place, node in enumerate(nodes, 1)
                for found in second(env.focus(node, place, size))
            ]
        )

    return Expression(inner.type.counted(times(base.type.count, inner.type.count)), run)
