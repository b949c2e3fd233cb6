"""XML DML: what .modify() takes ("XML Data Modification Language (XML DML)" pages).

insert, delete and ``replace value of``. All checks of shape are made while the statement compiles,
in the server's order (F-220); a path that finds nothing changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redial_broker.engine.errors import SqlError
from redial_broker.engine.meter import Meter
from redial_broker.exec.xml.nodes import (
    ATTRIBUTE,
    DOCUMENT,
    ELEMENT,
    NODE_PLACES,
    TEXT,
    XSI_URI,
    Node,
)
from redial_broker.exec.xml.xquery.operators import data
from redial_broker.exec.xml.xquery.parser import Parser
from redial_broker.exec.xml.xquery.static import Env, Expression, Static
from redial_broker.exec.xml.xquery.types import EMPTY, ONE, Type
from redial_broker.exec.xml.xquery.values import Item, text_of

_KEYWORDS = frozenset({"insert", "delete", "replace"})


@dataclass(slots=True)
class Modification:
    """A compiled DML text: apply(document node, SQL values) changes the tree."""

    apply: Callable[[Node, Mapping[str, list[Item]], Meter], None]
    outside: dict[str, tuple[str, str]]


def compile_dml(text: str, static: Static) -> Modification:
    """Compile the text of .modify(). 6305 for an expression that is no DML, 6306 for none."""
    if not text.strip():
        raise SqlError(6306, aborts="scope")
    parser = Parser(text, static)
    parser.prolog()
    word = parser.token.text
    if word not in _KEYWORDS:
        parser.expression()
        parser.finished()
        raise SqlError(6305, aborts="scope")
    parser.next()
    change = {"insert": _insert, "delete": _delete, "replace": _replace}[word](parser)
    parser.finished()
    return Modification(
        lambda root, outside, meter: change(Env(root, 1, 1, {}, outside, meter)), static.outside
    )


# ---------------------------------------------------------------------- insert
def _insert(parser: Parser) -> Callable[[Env], None]:
    static = parser.static
    static.xml_allowed = True
    content = parser.single()
    static.xml_allowed = False
    place = _place(parser)
    target = parser.single()
    _check_insert(static, content, place, target.type)
    static.opaque(target, f"insert {place}")
    find, make = target.run, content.run
    put = _PUTS[place]

    def change(env: Env) -> None:
        nodes = find(env)
        if not nodes:
            return
        copies = [node.copy() for item in make(env) for node in _parts(item)]
        attributes = [node for node in copies if node.kind == ATTRIBUTE]
        if attributes:
            _interleave(nodes[0], attributes)
        put(nodes[0], [node for node in copies if node.kind != ATTRIBUTE])

    return change


def _parts(item: Node) -> list[Node]:
    return item.children if item.kind == DOCUMENT else [item]


def _place(parser: Parser) -> str:
    """into, first, last, before or after."""
    if parser.word("into", "before", "after"):
        return parser.next().text
    if not parser.word("as"):
        raise parser.static.error(2248, parser.token.text)
    parser.next()
    if not parser.word("first", "last"):
        raise parser.static.error(2351)
    place = parser.next().text
    parser.expect("into")
    return place


def _check_insert(static: Static, content: Expression, place: str, target: Type) -> None:
    if not target.single:
        raise static.error(2226, target)
    of = content.type
    if not of.nodes and of.kind not in {EMPTY, "xml"}:
        raise static.error(2207, of)
    if of.kind == ATTRIBUTE and of.count == ONE and place not in {"into"}:
        raise static.error(2258, of)
    if place in {"before", "after"}:
        if target.kind in {ATTRIBUTE, DOCUMENT} or not target.nodes:
            raise static.error(2249, target)
    elif target.kind not in NODE_PLACES:
        raise static.error(2240, target)


def _interleave(target: Node, new: list[Node]) -> None:
    """Attributes of one insert go between those there: the i-th behind the i-th (probes)."""
    for attribute in new:
        if any(
            each.name == attribute.name and each.uri == attribute.uri for each in target.attributes
        ):
            raise SqlError(6308, attribute.name)
    declared = len(target.declared)
    old, merged = list(target.attributes), []
    for place in range(max(declared + len(old), len(new))):
        if declared <= place < declared + len(old):
            merged.append(old[place - declared])
        if place < len(new):
            merged.append(new[place])
    for attribute in new:
        attribute.parent = target
    target.attributes = merged


def _joined(nodes: list[Node]) -> list[Node]:
    """Neighbouring texts become one node."""
    merged: list[Node] = []
    for node in nodes:
        if node.kind == TEXT and merged and merged[-1].kind == TEXT:
            merged[-1].text += node.text
        else:
            merged.append(node)
    return merged


def _at(parent: Node, place: int, nodes: list[Node]) -> None:
    for node in nodes:
        node.parent = parent
    parent.children = _joined(parent.children[:place] + nodes + parent.children[place:])


def _index(node: Node) -> int:
    return next(i for i, child in enumerate(_parent(node).children) if child is node)


def _parent(node: Node) -> Node:
    assert node.parent is not None  # the static type has seen to it
    return node.parent


_PUTS: dict[str, Callable[[Node, list[Node]], None]] = {
    "into": lambda node, new: _at(node, len(node.children), new),
    "last": lambda node, new: _at(node, len(node.children), new),
    "first": lambda node, new: _at(node, 0, new),
    "before": lambda node, new: _at(_parent(node), _index(node), new),
    "after": lambda node, new: _at(_parent(node), _index(node) + 1, new),
}


# ---------------------------------------------------------------------- delete
def _delete(parser: Parser) -> Callable[[Env], None]:
    static = parser.static
    target = parser.expression()
    if (not target.type.nodes and target.type.kind != EMPTY) or target.type.kind == DOCUMENT:
        raise static.error(2264, target.type)
    static.opaque(target, "delete")
    find = target.run

    def change(env: Env) -> None:
        for node in find(env):
            remove(node)

    return change


def remove(node: Node) -> None:
    """Take a node out of its tree."""
    parent = node.parent
    if parent is None:
        return
    if node.kind == ATTRIBUTE:
        parent.attributes = [each for each in parent.attributes if each is not node]
    else:
        parent.children = _joined([each for each in parent.children if each is not node])


# ---------------------------------------------------------------------- replace value of
def _replace(parser: Parser) -> Callable[[Env], None]:
    static = parser.static
    for word in ("value", "of"):
        if not parser.accept(word):
            raise static.error(2205, word)
    target = parser.single()
    _check_target(static, target)
    if not parser.word("with"):
        raise static.error(2205, "with")
    parser.next()
    value = parser.single()
    if value.constructed:
        raise static.error(9310)
    value = data(static, value)
    _check_value(static, target.type, value)
    find, make, empty = target.run, value.run, value.empty
    nillable = static.nillable

    def change(env: Env) -> None:
        nodes = find(env)
        if nodes:
            _write(nodes[0], make(env), empty, nillable)

    return change


def _check_target(static: Static, target: Expression) -> None:
    of = target.type
    static.opaque(target, "replace value of")
    if not of.single:
        raise static.error(2337, of)
    simple = of.kind == ELEMENT and of.content not in {"", "xdt:untyped"}
    if of.kind not in {ATTRIBUTE, TEXT, EMPTY} and not simple:
        raise static.error(2356, of)


def _check_value(static: Static, target: Type, value: Expression) -> None:
    """Over a typed target the new value must be of its type or one derived from it: 2247."""
    wanted, given = target.content, value.type.kind
    if wanted in {"", "xdt:untyped", "xdt:untypedAtomic"} or given in {
        EMPTY,
        wanted,
        "xdt:untypedAtomic",
        "xdt:anyAtomicType",
    }:
        return
    whole = given == "xs:integer" or given in {"xs:int", "xs:long", "xs:short"}
    if (wanted in {"xs:decimal"} and whole) or (wanted == "xs:integer" and whole):
        return
    raise static.error(2247, value.type, Type(wanted))


def _write(
    node: Node, items: list[Item], empty: bool, nillable: Callable[[Node], bool] | None
) -> None:
    text = " ".join(text_of(item) for item in items)
    if not items:
        if node.kind == TEXT:
            if not empty:
                raise SqlError(6325)
        elif node.kind == ELEMENT and nillable is not None and nillable(node):
            node.children = []
            _mark_nil(node)
            return
        else:
            raise SqlError(6320)
    if node.kind == ATTRIBUTE:
        node.text = text
    elif node.kind == ELEMENT:
        node.children = []
        if text:
            node.append(Node(TEXT, text=text))
    elif text:
        node.text = text
    else:
        remove(node)


def _mark_nil(node: Node) -> None:
    """xsi:nil="true", with its prefix declared where it is not in scope."""
    if node.scope().get("xsi") != XSI_URI:
        node.declared = [*node.declared, ("xsi", XSI_URI)]
    node.append(Node(ATTRIBUTE, "nil", XSI_URI, "xsi", "true"))
