"""The xml methods: .value, .query, .exist, .nodes and .modify ("xml data type methods" pages)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial.tsql.ast import DataType, ObjectName
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import BIT, NVARCHAR_MAX, VARBINARY_MAX, XML, SqlType
from redial_broker.exec.conversion import explicit_conversion, resolve_type
from redial_broker.exec.conversion.declared import CAST
from redial_broker.exec.conversion.rules import XML_NODES
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.registry import compile_expression, compiles
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.xml.nodes import ATTRIBUTE, Node, Writer, fresh_tree, tree_of
from redial_broker.exec.xml.outside import accessor_type, accessors
from redial_broker.exec.xml.xquery import Query, compile_xquery, new_static
from redial_broker.exec.xml.xquery.dml import compile_dml
from redial_broker.exec.xml.xquery.static import WHOLE
from redial_broker.exec.xml.xquery.types import EMPTY, NODE, Type, atomized
from redial_broker.exec.xml.xquery.values import text_of

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.session import SessionState

_TYPE = re.compile(
    r"\s*\[?(?P<name>[A-Za-z_][A-Za-z0-9_]*(?: precision)?)\]?\s*"
    r"(?:\(\s*(?P<first>\d+|max)\s*(?:,\s*(?P<second>\d+)\s*)?\))?\s*",
    re.IGNORECASE,
)
_ZONE_AT_END = re.compile(r"(Z|[+-]\d{2}:\d{2})\s*$")
_ROW = Type(NODE)


@dataclass(frozen=True, slots=True, eq=False)
class XmlNode:
    """One row of .nodes(): a node inside a shared, never changed tree.

    It is the context of the methods applied to it, so ``@id`` and ``..`` work; it is no value and
    never leaves its statement (493).
    """

    node: Node


def context_of(value: Any) -> Node:
    """The node a path starts from: a .nodes() row, or the document node of an xml value."""
    return value.node if isinstance(value, XmlNode) else tree_of(value)


@compiles(ast.MethodCall)
def _method_call(node: ast.MethodCall, scope: Scope) -> Expr:
    target = compile_expression(node.target, scope)
    if target.type.name != "xml":
        raise SqlError(258, target.type.name, aborts="scope")
    if node.method == "modify":
        raise SqlError(8137, "modify", aborts="scope")
    build = _METHODS.get(node.method)
    if build is None:
        # The names are case-sensitive; nodes() is a method in FROM only.
        raise SqlError(227, node.method, aborts="scope")
    return build(node, target, scope)


def _text_of_argument(node: ast.MethodCall, at: int) -> str:
    literal = node.arguments[at]
    if not isinstance(literal, ast.Literal) or not isinstance(literal.value, str):
        raise SqlError(8172, at + 1, node.method, aborts="scope")
    return literal.value


def receiver(target: ast.Expression, scope: Scope) -> str:
    """What error texts put before the method: ``dbo.t.x.`` for a column, nothing for a variable.

    It is the table as FROM wrote it, whatever its alias (observed, F-220).
    """
    if not isinstance(target, ast.ColumnRef):
        return ""
    found = scope.column_named(target)
    if found is None or not found.written:
        return ""
    return (
        f"{found.written}."
        if found.type.name == "xml" and found.type is XML_NODES
        else f"{found.written}.{found.name}."
    )


def _query_of(node: ast.MethodCall, target: Expr, scope: Scope, least: int = 1) -> Query:
    """The compiled text of the first argument; 174 for a wrong number of arguments."""
    if len(node.arguments) != least:
        raise SqlError(174, node.method, least, aborts="scope")
    text = _text_of_argument(node, 0)
    label = f"{receiver(node.target, scope)}{node.method}()"
    namespaces = tuple(sorted(scope.namespaces.items(), key=lambda item: item[0] or ""))
    focus = _ROW if target.type is XML_NODES else WHOLE
    typing = getattr(target.type, "typing", None)
    if "sql:" not in text and typing is None:
        return _compiled(text, namespaces, label, focus)
    return compile_xquery(
        text,
        dict(namespaces),
        label,
        focus,
        lambda kind, name: accessor_type(kind, name, label, scope),
        typing,
    )


@lru_cache(maxsize=1024)
def _compiled(text: str, namespaces: tuple[Any, ...], label: str, focus: Type) -> Query:
    return compile_xquery(text, dict(namespaces), label, focus)


def _evaluator(target: Expr, query: Query, scope: Scope) -> Fn:
    """(session, variables, row) -> items of the query, None for a NULL instance."""
    inner, evaluate = target.fn, query.run
    if not query.outside:

        def run(session: SessionState, variables: Values, row: RowValues) -> list[Any] | None:
            value = inner(session, variables, row)
            return (
                None if value is None else evaluate(context_of(value), None, session.engine.meter)
            )

        return run
    read = accessors(query.outside, scope)

    def run_with_values(
        session: SessionState, variables: Values, row: RowValues
    ) -> list[Any] | None:
        value = inner(session, variables, row)
        if value is None:
            return None
        return evaluate(context_of(value), read(session, variables, row), session.engine.meter)

    return run_with_values


# ---------------------------------------------------------------------- value
def _to_type(target: SqlType) -> Callable[[str], object]:
    """Text of a node -> value: XML Schema spellings where they differ from CONVERT's."""
    if target.is_binary:
        fit = explicit_conversion(resolve_binary(), target)
        return lambda text: fit(_from_base64(text))
    convert = explicit_conversion(NVARCHAR_MAX, target)
    if target.name == "date":
        return lambda text: convert(_ZONE_AT_END.sub("", text))
    if target.is_string or target.name in {"datetime", "smalldatetime", "datetime2"}:
        return convert
    return lambda text: convert(text.strip())


def resolve_binary() -> SqlType:
    """The type base64 text is first read as."""
    return VARBINARY_MAX


def _from_base64(text: str) -> bytes | None:
    """The bytes of base64 text, NULL when it is none (observed, F-220)."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def _value(node: ast.MethodCall, target: Expr, scope: Scope) -> Expr:
    query = _query_of(node, target, scope, 2)
    of = _named_type(node, scope)
    static, expression = query.static, query.expression
    static.opaque(expression, "data()")
    if not expression.type.single:
        raise static.error(2389, "value()", atomized(expression.type))
    evaluate, convert = _evaluator(target, query, scope), _to_type(of)

    def run(session: SessionState, variables: Values, row: RowValues) -> object:
        items = evaluate(session, variables, row)
        if not items:
            return None
        return None if _nil(items[0]) else convert(text_of(items[0]))

    return Expr(run, of)


def _nil(item: Any) -> bool:
    """An element that says it has no value (xsi:nil)."""
    if not isinstance(item, Node) or not item.attributes or item.children:
        return False
    return any(
        a.name == "nil" and a.uri.endswith("XMLSchema-instance") and a.text in {"true", "1"}
        for a in item.attributes
    )


def _named_type(node: ast.MethodCall, scope: Scope) -> SqlType:
    """The type in the second argument of .value(), a string; 9500 for what it cannot be."""
    text, argument = _text_of_argument(node, 1), node.arguments[1]
    match = _TYPE.fullmatch(text)
    if match is None:
        raise SqlError(9500, text, aborts="scope")
    given = [match[name] for name in ("first", "second") if match[name]]
    sizes = tuple(int(size) if size.isdigit() else "MAX" for size in given)
    at = (argument.pos, argument.end)
    name = ObjectName(*at, (match["name"],))
    try:
        of = resolve_type(
            DataType(*at, name, sizes), CAST, scope.user_type, scope.position(argument)
        )
    except SqlError as error:
        if error.number not in {243, 2715}:
            raise
        raise SqlError(9500, text, aborts="scope") from None
    if of.name in {"xml", "image", "text", "ntext", "sql_variant"}:
        raise SqlError(9500, text, aborts="scope")
    return of


# ---------------------------------------------------------------------- query, exist
def _query(node: ast.MethodCall, target: Expr, scope: Scope) -> Expr:
    query = _query_of(node, target, scope)
    if query.expression.type.kind == ATTRIBUTE:
        raise query.static.error(2396)
    evaluate, prolog = _evaluator(target, query, scope), query.prolog

    def run(session: SessionState, variables: Values, row: RowValues) -> str | None:
        items = evaluate(session, variables, row)
        return None if items is None else written(items, prolog)

    return Expr(run, XML)


def written(items: list[Any], prolog: dict[str, str]) -> str:
    """Items as one xml value: a blank between neighbouring atomic values; 6307 for attributes."""
    writer, parts, after_value = Writer(prolog), [], False
    for item in items:
        if isinstance(item, Node):
            if item.kind == ATTRIBUTE:
                raise SqlError(6307)
            parts.append(item)
        else:
            text = Node("text", text=f" {text_of(item)}" if after_value else text_of(item))
            parts.append(text)
        after_value = not isinstance(item, Node)
    return writer.write(parts)


def _exist(node: ast.MethodCall, target: Expr, scope: Scope) -> Expr:
    evaluate = _evaluator(target, _query_of(node, target, scope), scope)

    def run(session: SessionState, variables: Values, row: RowValues) -> int | None:
        items = evaluate(session, variables, row)
        # A value, even false, is something that exists; only the empty sequence is not.
        return None if items is None else int(bool(items))

    return Expr(run, BIT)


_METHODS = {"value": _value, "query": _query, "exist": _exist}


def compile_nodes(call: ast.MethodCall, scope: Scope) -> Fn:
    """``x.nodes('path')`` in FROM: (session, variables, row) -> list of XmlNode, one per row.

    The column that holds them has type xml; only xml methods and IS NULL may touch it. 2374 for an
    expression that yields values.
    """
    target = compile_expression(call.target, scope)
    if target.type.name != "xml":
        raise SqlError(258, target.type.name, aborts="scope")
    query = _query_of(call, target, scope)
    query.static.opaque(query.expression, "'nodes()'")
    if not query.expression.type.nodes and query.expression.type.kind != EMPTY:
        raise query.static.error(2374, "nodes()")
    evaluate = _evaluator(target, query, scope)

    def run(session: SessionState, variables: Values, row: RowValues) -> list[XmlNode]:
        items = evaluate(session, variables, row)
        return [] if items is None else [XmlNode(item) for item in items]

    return run


# ---------------------------------------------------------------------- modify
def compile_modify(
    call: ast.MethodCall, target: Expr, scope: Scope, name: str, before: str = ""
) -> Expr:
    """``x.modify('dml')``: the new value of ``target``, which is typed again when it is assigned.

    name: the target as error 5302 shows it; before: what XQuery errors put before the method.
    Raises 8113 for another method, 258 for a target that is not xml.
    """
    if target.type.name != "xml":
        raise SqlError(258, target.type.name, aborts="scope")
    if call.method != "modify":
        raise SqlError(8113, call.method, aborts="scope")
    if len(call.arguments) != 1:
        raise SqlError(174, "modify", 1, aborts="scope")
    label = f"{before}modify()"
    collection = getattr(target.type, "collection", None)
    static = new_static(
        label,
        scope.namespaces,
        WHOLE,
        lambda kind, wanted: accessor_type(kind, wanted, label, scope),
        getattr(target.type, "typing", None),
    )
    static.nillable = collection.nillable if collection is not None else None
    change = compile_dml(_text_of_argument(call, 0), static)
    inner, read, prolog = target.fn, accessors(change.outside, scope), dict(static.written)

    def run(session: SessionState, variables: Values, row: RowValues) -> str:
        value = inner(session, variables, row)
        if value is None:
            raise SqlError(5302, "modify", name)
        root = fresh_tree(value)
        change.apply(root, read(session, variables, row), session.engine.meter)
        return Writer(prolog).write([root])

    return Expr(run, XML)
