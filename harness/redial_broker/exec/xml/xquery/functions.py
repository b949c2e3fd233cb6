"""The function library ("XQuery functions against the xml data type" pages).

What the pages do not list is 2395, as on the server; fn:id and the QName functions, which need a
schema or a QName value, are refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from redial_broker.exec.xml.xquery.operators import (
    FALSE,
    TRUE,
    as_kind,
    atomic_type,
    cast_as,
    check_number,
    condition,
    data,
    literal,
    result,
    truth,
)
from redial_broker.exec.xml.xquery.static import BUILT_IN, Env, Expression, Static
from redial_broker.exec.xml.xquery.types import (
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    EMPTY,
    INTEGER,
    MANY,
    NUMBERS,
    ONE,
    OPTIONAL,
    STRING,
    TEXTS,
    UNTYPED,
    Type,
    numeric,
    optional,
)
from redial_broker.exec.xml.xquery.values import Atomic, comparable, cut, number, text_of

Build = Callable[[Static, str, list[Expression]], Expression]
FUNCTIONS: dict[str, tuple[int, int, Build]] = {}
_REFUSED = frozenset({"id", "expanded-QName", "local-name-from-QName", "namespace-uri-from-QName"})
_MANY = 250


def function(name: str, least: int, most: int | None = None) -> Callable[[Build], Build]:
    """Register a function of ``least`` to ``most`` arguments."""

    def register(build: Build) -> Build:
        FUNCTIONS[name] = (least, least if most is None else most, build)
        return build

    return register


def call(static: Static, name: str, arguments: list[Expression]) -> Expression:
    """A call by name as written. Raises 2395 or 2394, 2236, 2238."""
    prefix, _, local = name.rpartition(":")
    uri = static.uri(prefix) if prefix else BUILT_IN["fn"]
    if uri in {BUILT_IN["xs"], BUILT_IN["xdt"]}:
        kind = "xs" if uri == BUILT_IN["xs"] else "xdt"
        return _constructor(static, f"{kind}:{local}", arguments)
    if uri == BUILT_IN["fn"] and local in _REFUSED:
        raise static.refuse(f"function {local}()")
    found = FUNCTIONS.get(local) if uri == BUILT_IN["fn"] else None
    if found is None:
        raise static.error(2395, f"{{{uri}}}", local)
    least, most, build = found
    _check_count(static, f"{local}()", least, most, len(arguments))
    return build(static, f"{local}()", arguments)


def _check_count(static: Static, name: str, least: int, most: int, count: int) -> None:
    if count < least:
        raise static.error(2236, name)
    if count > most:
        raise static.error(2238, name)


def _constructor(static: Static, kind: str, arguments: list[Expression]) -> Expression:
    """``xs:integer(..)``: the cast to that type."""
    _check_count(static, kind, 1, 1, len(arguments))
    return cast_as(static, arguments[0], atomic_type(static, kind))


# ---------------------------------------------------------------------- arguments
def _text(static: Static, name: str, expr: Expression) -> Callable[[Env], str]:
    """A string parameter: 2389 for a sequence, 2364 for a number or boolean; nothing is ''."""
    expr = data(static, expr)
    static.single(expr, name)
    if expr.type.kind in NUMBERS or expr.type.kind == BOOLEAN:
        raise static.error(2364, expr.type, STRING)
    run = expr.run
    return lambda env: text_of(items[0]) if (items := run(env)) else ""


def _number(static: Static, name: str, expr: Expression) -> Callable[[Env], Any]:
    """A decimal parameter: None when empty or no number."""
    expr = data(static, expr)
    static.single(expr, name)
    if expr.type.kind in TEXTS or expr.type.kind == BOOLEAN:
        raise static.error(2364, expr.type, DECIMAL)
    run = expr.run
    return lambda env: number(items[0]) if (items := run(env)) else None


def _node(static: Static, name: str, arguments: list[Expression]) -> Expression:
    """A node parameter, the context item when it is left out."""
    if not arguments:
        return Expression(static.focus.counted(ONE), lambda env: [env.item])
    expr = arguments[0]
    static.opaque(expr, name)
    if not expr.type.nodes and expr.type.kind != EMPTY:
        raise static.error(2374, name)
    static.single(expr, name)
    return expr


def _string_result(run: Callable[[Env], str]) -> Expression:
    return Expression(Type(STRING), lambda env: [Atomic(STRING, run(env))])


# ---------------------------------------------------------------------- nodes and strings
@function("data", 1)
def _data(static: Static, name: str, arguments: list[Expression]) -> Expression:
    return data(static, arguments[0])


@function("string", 0, 1)
def _string(static: Static, name: str, arguments: list[Expression]) -> Expression:
    if not arguments:
        return _string_result(lambda env: text_of(env.item))
    expr = arguments[0]
    static.opaque(expr, name)
    static.single(expr, name)
    run = expr.run
    return _string_result(lambda env: text_of(items[0]) if (items := run(env)) else "")


@function("number", 0, 1)
def _number_of(static: Static, name: str, arguments: list[Expression]) -> Expression:
    run = _node(static, name, arguments).run

    def read(env: Env) -> list[Any]:
        items = run(env)
        value = number(items[0]) if items else None
        return [] if value is None else [Atomic(DOUBLE, float(value))]

    return Expression(Type(DOUBLE, OPTIONAL), read)


@function("local-name", 0, 1)
@function("namespace-uri", 0, 1)
def _name(static: Static, name: str, arguments: list[Expression]) -> Expression:
    run = _node(static, name, arguments).run
    part = "name" if name.startswith("local") else "uri"
    return _string_result(lambda env: getattr(items[0], part) if (items := run(env)) else "")


@function("concat", 2, _MANY)
def _concat(static: Static, name: str, arguments: list[Expression]) -> Expression:
    parts = [_text(static, name, argument) for argument in arguments]
    return _string_result(lambda env: "".join([part(env) for part in parts]))


@function("contains", 2)
def _contains(static: Static, name: str, arguments: list[Expression]) -> Expression:
    one, two = (_text(static, name, argument) for argument in arguments)
    return truth(lambda env: two(env) in one(env))


@function("string-length", 0, 1)
def _length(static: Static, name: str, arguments: list[Expression]) -> Expression:
    text = _text(static, name, arguments[0]) if arguments else lambda env: text_of(env.item)
    return Expression(
        Type(INTEGER), lambda env: [Atomic(INTEGER, len(text(env).encode("utf-16-le")) // 2)]
    )


@function("lower-case", 1)
@function("upper-case", 1)
def _case(static: Static, name: str, arguments: list[Expression]) -> Expression:
    text = _text(static, name, arguments[0])
    change = str.lower if name.startswith("lower") else str.upper
    return _string_result(lambda env: change(text(env)))


@function("substring", 2, 3)
def _substring(static: Static, name: str, arguments: list[Expression]) -> Expression:
    text = _text(static, name, arguments[0])
    start = _number(static, name, arguments[1])
    length = _number(static, name, arguments[2]) if len(arguments) == 3 else None

    def run(env: Env) -> list[Any]:
        first = start(env)
        size = length(env) if length is not None else math.inf
        if first is None or size is None:
            return []
        begin = _half_up(first)
        end = begin + (size if size == math.inf else _half_up(size))
        value = text(env)
        stop = len(value) if end == math.inf else max(0, int(end) - 1)
        return [Atomic(STRING, value[max(0, int(begin) - 1) : stop])]

    return Expression(Type(STRING, OPTIONAL), run)


def _half_up(value: Any) -> Any:
    """A half rounds toward positive infinity (fn:round)."""
    if isinstance(value, float):
        return float(math.floor(value + 0.5))
    if isinstance(value, Decimal):
        return (value + Decimal("0.5")).to_integral_value(ROUND_FLOOR)
    return value


# ---------------------------------------------------------------------- booleans and context
@function("true", 0)
@function("false", 0)
def _constant(static: Static, name: str, arguments: list[Expression]) -> Expression:
    return literal(TRUE if name == "true()" else FALSE)


@function("not", 1)
def _not(static: Static, name: str, arguments: list[Expression]) -> Expression:
    test = condition(static, arguments[0])
    return truth(lambda env: not test(env))


@function("empty", 1)
def _empty(static: Static, name: str, arguments: list[Expression]) -> Expression:
    static.opaque(arguments[0], name)
    run = arguments[0].run
    return truth(lambda env: not run(env))


@function("position", 0)
@function("last", 0)
def _place(static: Static, name: str, arguments: list[Expression]) -> Expression:
    if not static.filtering:
        raise static.error(2371, name)
    if name == "last()":
        return Expression(Type(INTEGER), lambda env: [Atomic(INTEGER, env.size)], last=True)
    return Expression(Type(INTEGER), lambda env: [Atomic(INTEGER, env.position)])


# ---------------------------------------------------------------------- numbers
@function("ceiling", 1)
@function("floor", 1)
@function("round", 1)
def _whole(static: Static, name: str, arguments: list[Expression]) -> Expression:
    expr = data(static, arguments[0])
    static.single(expr, name)
    check_number(static, name, expr.type)
    kind, run, change = numeric(expr.type.kind), expr.run, _ROUNDINGS[name]

    def compute(env: Env) -> list[Any]:
        items = run(env)
        value = number(items[0]) if items else None
        return [] if value is None else result(kind, change, value)

    return Expression(Type(kind, optional(expr.type.count)), compute)


def _ceiling(value: Any) -> Any:
    if isinstance(value, Decimal):
        return value.to_integral_value(ROUND_CEILING)
    return float(math.ceil(value)) if isinstance(value, float) else value


def _floor(value: Any) -> Any:
    if isinstance(value, Decimal):
        return value.to_integral_value(ROUND_FLOOR)
    return float(math.floor(value)) if isinstance(value, float) else value


_ROUNDINGS = {"ceiling()": _ceiling, "floor()": _floor, "round()": _half_up}


# ---------------------------------------------------------------------- sequences
@function("count", 1)
def _count(static: Static, name: str, arguments: list[Expression]) -> Expression:
    static.opaque(arguments[0], name)
    run = arguments[0].run
    return Expression(Type(INTEGER), lambda env: [Atomic(INTEGER, len(run(env)))])


@function("distinct-values", 1)
def _distinct(static: Static, name: str, arguments: list[Expression]) -> Expression:
    expr = data(static, arguments[0])
    run = expr.run

    def unique(env: Env) -> list[Any]:
        found: dict[Any, Any] = {}
        for item in run(env):
            found.setdefault(comparable(item), item)
        return list(found.values())

    return Expression(expr.type, unique)


def _numbers(static: Static, name: str, expr: Expression) -> tuple[str, Callable[[Env], list[Any]]]:
    """(arithmetic type, values) of an aggregate's argument; None in the list: no number."""
    expr = data(static, expr)
    check_number(static, name, expr.type)
    kind, run = numeric(expr.type.kind), expr.run
    if expr.type.kind == EMPTY:
        kind = INTEGER
    return kind, lambda env: [
        None if (x := number(item)) is None else as_kind(kind, x) for item in run(env)
    ]


@function("sum", 1)
@function("avg", 1)
def _total(static: Static, name: str, arguments: list[Expression]) -> Expression:
    kind, values = _numbers(static, name, arguments[0])
    average = name == "avg()"
    of = DECIMAL if average and kind == INTEGER else kind

    def run(env: Env) -> list[Any]:
        found = values(env)
        if not found:
            return [] if average else [Atomic(INTEGER, 0)]
        if None in found:
            return []
        if not average:
            return result(kind, lambda: sum(found[1:], found[0]))
        return result(
            of,
            lambda: (
                cut(Decimal(sum(found)) / len(found), 10)
                if of == DECIMAL
                else sum(found) / len(found)
            ),
        )

    return Expression(Type(of, OPTIONAL if average else ONE), run)


@function("min", 1)
@function("max", 1)
def _extreme(static: Static, name: str, arguments: list[Expression]) -> Expression:
    pick = min if name == "min()" else max
    expr = data(static, arguments[0])
    if expr.type.kind not in NUMBERS and expr.type.kind not in {UNTYPED, EMPTY}:
        run = expr.run
        return Expression(
            expr.type.counted(OPTIONAL),
            lambda env: [pick(items, key=comparable)] if (items := run(env)) else [],
        )
    kind, values = _numbers(static, name, expr)

    def extreme(env: Env) -> list[Any]:
        found = values(env)
        return [] if not found or None in found else result(kind, lambda: pick(found))

    return Expression(Type(kind, OPTIONAL), extreme)


__all__ = ["FUNCTIONS", "MANY", "call"]
