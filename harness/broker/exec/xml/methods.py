"""The xml methods: .value, .query, .exist and .nodes ("xml data type methods" pages)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from lxml import etree

from harness.broker.engine.errors import SqlError
from harness.broker.engine.types import INT, NVARCHAR_MAX, XML, SqlType
from harness.broker.exec.conversion import explicit_conversion, resolve_type
from harness.broker.exec.conversion.declared import CAST
from harness.broker.exec.expressions.expr import Expr, Fn
from harness.broker.exec.expressions.registry import compile_expression, compiles
from harness.broker.exec.expressions.scope import Scope
from harness.broker.exec.xml.document import serialize_node, tree
from harness.broker.exec.xml.xquery import XPath, compile_xquery
from harness.tsql import ast
from harness.tsql.ast import DataType, ObjectName

_TYPE = re.compile(
    r"\s*\[?(?P<name>[A-Za-z_][A-Za-z0-9_]*(?: precision)?)\]?\s*"
    r"(?:\(\s*(?P<first>\d+|max)\s*(?:,\s*(?P<second>\d+)\s*)?\))?\s*",
    re.IGNORECASE,
)
_ZONE_AT_END = re.compile(r"(Z|[+-]\d{2}:\d{2})\s*$")


@dataclass(frozen=True, slots=True, eq=False)
class XmlNode:
    """One row of .nodes(): a node inside a shared, never changed tree.

    It is the context of the methods applied to it, so ``@id`` and ``..`` work; it is no value and
    never leaves its statement (493).
    """

    node: object


def context_of(value: object) -> object:
    """The lxml node a path starts from: a .nodes() row, or the content of an xml value."""
    return value.node if isinstance(value, XmlNode) else tree(value)


@compiles(ast.MethodCall)
def _method_call(node: ast.MethodCall, scope: Scope) -> Expr:
    method = node.method.lower()
    if method == "modify":
        raise scope.refuse("the xml method modify()", node)
    build = _METHODS.get(method)
    if build is None:
        raise SqlError(195, node.method, aborts="scope")
    target = compile_expression(node.target, scope)
    if target.type.name != "xml":
        raise SqlError(258, target.type.name, aborts="scope")
    return build(node, target, scope)


def _path(node: ast.MethodCall, scope: Scope, method: str) -> XPath:
    if not node.arguments:
        raise SqlError(174, method, 2 if method == "value" else 1, aborts="scope")
    literal = node.arguments[0]
    if not isinstance(literal, ast.Literal) or not isinstance(literal.value, str):
        raise SqlError(8172, 1, method, aborts="scope")
    namespaces = tuple(sorted(scope.namespaces.items(), key=lambda item: item[0] or ""))
    return _compiled(literal.value, namespaces, method)


@lru_cache(maxsize=1024)
def _compiled(text: str, namespaces: tuple, method: str) -> XPath:
    return compile_xquery(text, dict(namespaces), method)


def _evaluator(target: Expr, path: XPath, scope: Scope) -> Fn:
    """(s, v, r) -> result of the path, None for a NULL instance."""
    inner, evaluate = target.fn, path.evaluate
    if not path.outside:
        def run(s: object, v: object, r: object) -> object:
            value = inner(s, v, r)
            return None if value is None else evaluate(context_of(value))

        return run
    readers = {key: _outside(kind, name, scope) for key, (kind, name) in path.outside.items()}

    def run_with_variables(s: object, v: object, r: object) -> object:
        value = inner(s, v, r)
        if value is None:
            return None
        return evaluate(context_of(value), **{key: fn(s, v, r) for key, fn in readers.items()})

    return run_with_variables


def _outside(kind: str, name: str, scope: Scope) -> Fn:
    """sql:variable() or sql:column() as a value XPath understands."""
    if kind == "variable":
        found = scope.resolve_variable(ast.Variable(0, 0, name))
    else:
        found = scope.resolve_column(ast.ColumnRef(0, 0, tuple(name.split("."))))
    inner = found.fn
    if found.type.is_integer or found.type.name in {"float", "real", "bit"}:
        return lambda s, v, r: "" if (x := inner(s, v, r)) is None else float(x)
    convert = explicit_conversion(found.type, NVARCHAR_MAX)
    return lambda s, v, r: convert(inner(s, v, r)) or ""


def _atomic(item: object) -> str:
    """A node or XPath value as the text .value() converts."""
    if isinstance(item, etree._Element):
        # Comments and processing instructions: their own text.
        return item.xpath("string()") if isinstance(item.tag, str) else item.text or ""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float):
        return str(int(item)) if item == int(item) else repr(item)
    return str(item)


def _items(result: object) -> list[object]:
    return result if isinstance(result, list) else [result]


def _to_type(target: SqlType) -> Callable[[str], object]:
    """Text of a node -> value: XML Schema spellings where they differ from CONVERT's."""
    convert = explicit_conversion(NVARCHAR_MAX, target) if not target.is_binary else None
    if convert is None:
        return _from_base64
    if target.name in {"datetime", "smalldatetime", "datetime2", "date"}:
        return lambda text: convert(_ZONE_AT_END.sub("", text) if target.name == "date" else text)
    if target.is_string:
        return convert
    return lambda text: convert(text.strip())


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise SqlError(8114, "nvarchar", "varbinary") from None


def _value(node: ast.MethodCall, target: Expr, scope: Scope) -> Expr:
    if len(node.arguments) != 2:
        raise SqlError(174, "value", 2, aborts="scope")
    path = _path(node, scope, "value")
    if not path.singleton:
        raise SqlError(2389, "value", "value()", line=scope.line(node), aborts="scope")
    of = _named_type(node.arguments[1], scope)
    evaluate, convert = _evaluator(target, path, scope), _to_type(of)

    def run(s: object, v: object, r: object) -> object:
        result = evaluate(s, v, r)
        if result is None or result == []:
            return None
        item = result[0] if isinstance(result, list) else result
        return convert(_atomic(item))

    return Expr(run, of)


def _named_type(argument: ast.Expression, scope: Scope) -> SqlType:
    """The type in the second argument of .value(), a string."""
    if not isinstance(argument, ast.Literal) or not isinstance(argument.value, str):
        raise SqlError(8172, 2, "value", aborts="scope")
    match = _TYPE.fullmatch(argument.value)
    if match is None:
        raise SqlError(243, argument.value)
    given = [match[name] for name in ("first", "second") if match[name]]
    sizes = tuple(int(size) if size.isdigit() else "MAX" for size in given)
    at = (argument.pos, argument.end)
    name = ObjectName(*at, (match["name"],))
    of = resolve_type(DataType(*at, name, sizes), CAST, scope.user_type, scope.position(argument))
    if of.name in {"xml", "image", "text", "ntext", "sql_variant", "rowversion"}:
        raise SqlError(9500, of.name, aborts="scope")
    return of


def _query(node: ast.MethodCall, target: Expr, scope: Scope) -> Expr:
    evaluate = _evaluator(target, _path(node, scope, "query"), scope)

    def run(s: object, v: object, r: object) -> str | None:
        result = evaluate(s, v, r)
        if result is None:
            return None
        return "".join(_serialized(item) for item in _items(result))

    return Expr(run, XML)


def _serialized(item: object) -> str:
    if isinstance(item, etree._Element):
        if item.getparent() is None:
            # The wrapper itself: the whole content.
            return "".join([
                serialize_node(item.text or ""),
                *(etree.tostring(child, encoding="unicode") for child in item),
            ])
        return serialize_node(item)
    return serialize_node(_atomic(item))


def _exist(node: ast.MethodCall, target: Expr, scope: Scope) -> Expr:
    evaluate = _evaluator(target, _path(node, scope, "exist"), scope)

    def run(s: object, v: object, r: object) -> int | None:
        result = evaluate(s, v, r)
        # A value, even false, is something that exists; only the empty sequence is not.
        return None if result is None else int(result != [])

    return Expr(run, INT)


def _nodes_misplaced(node: ast.MethodCall, target: Expr, scope: Scope) -> Expr:
    raise SqlError(227, "nodes", aborts="scope")


_METHODS = {"value": _value, "query": _query, "exist": _exist, "nodes": _nodes_misplaced}


def compile_nodes(call: ast.MethodCall, scope: Scope) -> Fn:
    """``x.nodes('path')`` in FROM: (s, v, r) -> list of XmlNode, one per row.

    The column that holds them has type xml; only xml methods and IS NULL may touch it.
    """
    target = compile_expression(call.target, scope)
    if target.type.name != "xml":
        raise SqlError(258, target.type.name, aborts="scope")
    evaluate = _evaluator(target, _path(call, scope, "nodes"), scope)

    def run(s: object, v: object, r: object) -> list[XmlNode]:
        result = evaluate(s, v, r)
        return [] if result is None else [XmlNode(item) for item in _items(result)]

    return run
