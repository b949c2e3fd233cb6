"""Comparison, arithmetic, logic, casts and sequences ("XQuery operators" and "XQuery expressions").

Each function takes compiled operands, raises what their static types forbid, and returns the
compiled operation.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, DecimalException
from typing import Any

from redial_broker.exec.xml.nodes import Node
from redial_broker.exec.xml.xquery.static import Env, Expression, Static, root_of
from redial_broker.exec.xml.xquery.types import (
    ATOMIC,
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    EMPTY,
    INTEGER,
    INTEGERS,
    MANY,
    NUMBERS,
    ONE,
    OPTIONAL,
    UNTYPED,
    Type,
    atomized,
    either,
    family,
    numeric,
    plus,
    promoted,
    union,
)
from redial_broker.exec.xml.xquery.values import (
    Atomic,
    atomize,
    cast,
    comparable,
    cut,
    exact,
    number,
    read,
)

TRUE, FALSE = Atomic(BOOLEAN, True), Atomic(BOOLEAN, False)
GENERAL = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
VALUE = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_MAX_EXACT = Decimal(10) ** 28


def literal(value: Atomic) -> Expression:
    """A constant."""
    return Expression(Type(value.type), lambda env: [value], literal=value.value)


def nothing() -> Expression:
    """The empty sequence ``()``."""
    return Expression(Type(EMPTY, OPTIONAL), lambda env: [], empty=True)


def data(static: Static, expr: Expression) -> Expression:
    """The operand atomized, as operators and functions take it."""
    static.opaque(expr, "data()")
    if not expr.type.nodes:
        return expr
    run, of = expr.run, atomized(expr.type)
    kind = of.kind
    if kind == UNTYPED or not expr.type.content:
        return Expression(of, lambda env: [atomize(item) for item in run(env)])
    return Expression(of, lambda env: [typed_value(item, kind) for item in run(env)])


def typed_value(item: Any, kind: str) -> Atomic:
    """The value of a node a schema collection gives a simple type."""
    if isinstance(item, Atomic):
        return item
    return read(kind, item.string()) or Atomic(UNTYPED, item.string())


# ---------------------------------------------------------------------- logic
def condition(static: Static, expr: Expression) -> Callable[[Env], bool]:
    """The effective boolean value; 2204 for anything but a boolean or nodes."""
    run, of = expr.run, expr.type
    if of.kind == BOOLEAN and of.single:
        return lambda env: bool((items := run(env)) and items[0].value)
    if of.nodes or of.kind == EMPTY or expr.constructed:
        return lambda env: bool(run(env))
    raise static.error(2204, of)


def logic(static: Static, op: str, left: Expression, right: Expression) -> Expression:
    """``and`` and ``or``."""
    one, two = condition(static, left), condition(static, right)
    if op == "and":
        return truth(lambda env: one(env) and two(env))
    return truth(lambda env: one(env) or two(env))


def truth(test: Callable[[Env], bool]) -> Expression:
    """A boolean expression."""
    return Expression(Type(BOOLEAN), lambda env: [TRUE if test(env) else FALSE])


# ---------------------------------------------------------------------- comparison
def _target(static: Static, op: str, left: Type, right: Type) -> str | None:
    """The type both sides are compared in; None for text as it is. 2234 when there is none."""
    one, two = left.kind, right.kind
    if EMPTY in (one, two) or UNTYPED == one == two:
        return None
    if UNTYPED in {one, two}:
        typed = two if one == UNTYPED else one
        kind = family(typed)
        return DOUBLE if kind == "number" else None if kind == "text" else typed
    if family(one) != family(two) and "xdt:anyAtomicType" not in (one, two):
        raise static.error(2234, op, left, right)
    return DOUBLE if family(one) == "number" else None


def _comparer(
    op: Callable[[Any, Any], bool], target: str | None
) -> Callable[[Atomic, Atomic], bool | None]:
    """(one, two) -> outcome; None when a side does not convert, which matches nothing."""
    if target == DOUBLE:

        def numbers(one: Atomic, two: Atomic) -> bool | None:
            x, y = number(one), number(two)
            if x is None or y is None:
                return None
            if isinstance(x, float) or isinstance(y, float):
                return op(float(x), float(y))
            return op(x, y)

        return numbers
    if target is None:

        def texts(one: Atomic, two: Atomic) -> bool | None:
            x, y = comparable(one), comparable(two)
            return op(x, y) if type(x) is type(y) else op(str(one), str(two))

        return texts

    def others(one: Atomic, two: Atomic) -> bool | None:
        x, y = cast(one, target), cast(two, target)
        return None if x is None or y is None else op(comparable(x), comparable(y))

    return others


def compare(static: Static, op: str, left: Expression, right: Expression) -> Expression:
    """General (=) and value (eq) comparisons."""
    left, right = data(static, left), data(static, right)
    if op in VALUE:
        for side in (left, right):
            static.single(side, op)
    test = _comparer((GENERAL | VALUE)[op], _target(static, op, left.type, right.type))
    one, two = left.run, right.run
    if op in GENERAL:

        def exists(env: Env) -> bool:
            others = two(env)
            tick = env.meter.tick
            for x in one(env):
                if any(test(x, y) for y in others):
                    return True
                tick(len(others))
            return False

        return truth(exists)

    def run(env: Env) -> list[Any]:
        first, second = one(env), two(env)
        if not first or not second:
            return []
        found = test(first[0], second[0])
        return [] if found is None else [TRUE if found else FALSE]

    return Expression(Type(BOOLEAN, OPTIONAL), run)


def compare_nodes(static: Static, op: str, left: Expression, right: Expression) -> Expression:
    """``is``, ``<<`` and ``>>``: identity and document order of two nodes."""
    for side in (left, right):
        static.opaque(side, f"'{op}'")
        if not side.type.nodes:
            raise static.error(2234, op, left.type, right.type)
        static.single(side, op)
    one, two = left.run, right.run

    def run(env: Env) -> list[Any]:
        first, second = one(env), two(env)
        if not first or not second:
            return []
        x, y = first[0], second[0]
        if op == "is":
            return [TRUE if x is y else FALSE]
        before = x.order < y.order if op == "<<" else x.order > y.order
        return [TRUE if root_of(x) is root_of(y) and before else FALSE]

    return Expression(Type(BOOLEAN, OPTIONAL), run)


# ---------------------------------------------------------------------- arithmetic
def check_number(static: Static, what: str, of: Type) -> None:
    """9308 for an operand that is neither a number nor untyped."""
    if of.kind not in NUMBERS and of.kind not in {UNTYPED, EMPTY}:
        raise static.error(9308, what, of)


def arithmetic(static: Static, op: str, left: Expression, right: Expression) -> Expression:
    """+ - * div mod: empty when an operand is, or when the result cannot be had."""
    left, right = data(static, left), data(static, right)
    for side in (left, right):
        static.single(side, op)
        check_number(static, op, side.type)
    kind = promoted(left.type.kind, right.type.kind)
    if op == "div" and kind == INTEGER:
        kind = DECIMAL
    one, two, compute = left.run, right.run, _ARITHMETIC[op]

    def run(env: Env) -> list[Any]:
        first, second = one(env), two(env)
        if not first or not second:
            return []
        x, y = number(first[0]), number(second[0])
        if x is None or y is None:
            return []
        return result(kind, compute, x, y)

    count = (
        ONE
        if left.type.count == right.type.count == ONE
        and UNTYPED not in (left.type.kind, right.type.kind)
        else OPTIONAL
    )
    return Expression(Type(kind, count), run)


def as_kind(kind: str, value: Any) -> Any:
    """A Python number in the representation of an arithmetic type."""
    if kind == INTEGER:
        return int(value)
    if kind == DECIMAL:
        return value if isinstance(value, Decimal) else Decimal(str(value))
    return float(value)


def result(kind: str, compute: Callable[..., Any], *operands: Any) -> list[Any]:
    """The outcome of an operation as items; nothing for a zero divisor or an overflow."""
    try:
        value = compute(*(as_kind(kind, x) for x in operands))
    except (ZeroDivisionError, OverflowError, ValueError, DecimalException):
        return []
    if isinstance(value, Decimal):
        value = exact(value)
        if abs(value) >= _MAX_EXACT:
            return []
    elif isinstance(value, float) and not math.isfinite(value):
        return []
    return [Atomic(kind, value)]


def _times(x: Any, y: Any) -> Any:
    product = x * y
    if isinstance(product, Decimal) and -int(product.as_tuple().exponent) > 6:
        return product.quantize(Decimal("0.000001"), rounding=ROUND_HALF_UP)
    return product


def _divide(x: Any, y: Any) -> Any:
    if isinstance(x, Decimal):
        return cut(x / y, 6)
    return x / y


def _modulo(x: Any, y: Any) -> Any:
    if isinstance(x, float):
        return math.fmod(x, y)
    if isinstance(x, Decimal):
        return x % y
    return int(math.copysign(1, x)) * (abs(x) % abs(y))


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": _times,
    "div": _divide,
    "mod": _modulo,
}


def negate(static: Static, expr: Expression) -> Expression:
    """Unary minus."""
    expr = data(static, expr)
    static.single(expr, "-")
    check_number(static, "-", expr.type)
    kind, run = numeric(expr.type.kind), expr.run

    def negated(env: Env) -> list[Any]:
        items = run(env)
        value = number(items[0]) if items else None
        return [] if value is None else result(kind, operator.neg, value)

    known = -expr.literal if isinstance(expr.literal, (int, float, Decimal)) else None
    return Expression(Type(kind, expr.type.count), negated, literal=known)


# ---------------------------------------------------------------------- sequences
def check_alike(static: Static, one: Type, two: Type) -> None:
    """2210 for nodes beside atomic values; the atomic type is named first."""
    if EMPTY in (one.kind, two.kind) or one.nodes == two.nodes:
        return
    atomic, nodes = (two, one) if one.nodes else (one, two)
    raise static.error(2210, atomic, nodes)


def sequence(static: Static, parts: list[Expression]) -> Expression:
    """(a, b, ...)."""
    of, count = parts[0].type, parts[0].type.count
    if of.kind == EMPTY:
        count = OPTIONAL
    for part in parts[1:]:
        check_alike(static, of, part.type)
        count = plus(count, part.type.count) if part.type.kind != EMPTY else count
        of = union(of, part.type, count)
    runs = [part.run for part in parts]
    return Expression(
        of,
        lambda env: [item for run in runs for item in run(env)],
        any(part.constructed for part in parts),
    )


def choose(static: Static, test: Expression, one: Expression, two: Expression) -> Expression:
    """if (test) then one else two."""
    holds = condition(static, test)
    check_alike(static, one.type, two.type)
    of = union(one.type, two.type, either(one.type.count, two.type.count))
    first, second = one.run, two.run
    return Expression(
        of,
        lambda env: first(env) if holds(env) else second(env),
        one.constructed or two.constructed,
    )


# ---------------------------------------------------------------------- types
def cast_as(static: Static, expr: Expression, kind: str) -> Expression:
    """``cast as kind?`` and ``kind(..)``; a constant that does not convert is 9319."""
    expr = data(static, expr)
    if not expr.type.single or expr.type.kind == EMPTY or kind == "xs:QName":
        raise static.error(2365, expr.type, kind)
    if expr.literal is not None:
        nothing: Any = None  # a constant reads no environment
        value = cast(expr.run(nothing)[0], kind)
        if value is None:
            raise static.error(9319, expr.literal)
        return literal(value)
    inner = expr.run

    def run(env: Env) -> list[Any]:
        items = inner(env)
        value = cast(items[0], kind) if items else None
        return [] if value is None else [value]

    return Expression(Type(kind, OPTIONAL), run)


_ABOVE = {**dict.fromkeys(INTEGERS, DECIMAL), INTEGER: DECIMAL}


def _derived(kind: str, wanted: str) -> bool:
    while kind != wanted:
        if kind not in _ABOVE:
            return False
        kind = INTEGER if kind != INTEGER and kind in INTEGERS else _ABOVE[kind]
    return True


def instance_of(static: Static, expr: Expression, kind: str, name: str, count: str) -> Expression:
    """``instance of``; kind: item, node, an atomic type, or a kind of node."""
    static.opaque(expr, "'instance of'")
    static.single(expr, "instance of")
    inner = expr.run

    def fits(item: Any) -> bool:
        if kind == "item":
            return True
        if isinstance(item, Node):
            return kind in {"node", item.kind} and (not name or name == item.name)
        return _derived(item.type, kind)

    def holds(env: Env) -> bool:
        items = inner(env)
        if not items:
            return kind == EMPTY or count in {OPTIONAL, MANY}
        return kind != EMPTY and all(fits(item) for item in items)

    return truth(holds)


def atomic_type(static: Static, name: str) -> str:
    """The type a name in ``cast as`` or ``instance of`` means; 2231 or 2232 otherwise."""
    if name in ATOMIC:
        return name
    prefix, _, local = name.rpartition(":")
    raise static.error(2232, prefix, local) if prefix else static.error(2231, local)
