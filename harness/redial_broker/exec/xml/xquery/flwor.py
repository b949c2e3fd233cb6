"""FLWOR and quantified expressions ("FLWOR statement and iteration", "Quantified expressions")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from redial_broker.exec.xml.xquery import operators
from redial_broker.exec.xml.xquery.static import Env, Expression, Run
from redial_broker.exec.xml.xquery.types import MOMENTS, NUMBERS, ONE, times
from redial_broker.exec.xml.xquery.values import comparable, number


@dataclass(slots=True)
class Binding:
    """``for $name in source`` (each) or ``let $name := source``."""

    name: str
    run: Run
    each: bool


def for_let(parser: Any) -> Expression:
    """Read for, let, where, order by, return."""
    static = parser.static
    with static.scoped():
        bindings: list[Binding] = []
        count = ONE
        while parser.word("for", "let") and parser.after(parser.token).text == "$":
            count = times(count, _clause(parser, bindings))
        test = None
        if parser.word("where"):
            parser.next()
            test = operators.condition(static, parser.single())
        keys = _order(parser)
        if not parser.word("return"):
            if test is None and not keys:
                raise static.error(9332, parser.token.text)
            raise static.error(9303, parser.token.text, "return")
        parser.next()
        inner = parser.single()
    run = _runner(bindings, test, keys, inner.run)
    return Expression(inner.type.counted(times(count, inner.type.count)), run, inner.constructed)


def _clause(parser: Any, bindings: list[Binding]) -> str:
    """One for or let clause; how many times it runs what follows."""
    static, count = parser.static, ONE
    word = parser.next().text
    while True:
        name = parser.variable()
        if parser.word("at", "as"):
            raise static.error(9335, parser.token.text)
        joint = "in" if word == "for" else ":="
        if not parser.accept(joint):
            raise static.error(2205, joint)
        source = parser.single()
        static.opaque(source, f"'{word}'")
        each = word == "for"
        bindings.append(Binding(name, source.run, each))
        static.variables[name] = source.type.counted(ONE) if each else source.type
        if each:
            count = times(count, source.type.count)
        if not parser.accept(","):
            return count


@dataclass(slots=True)
class _Key:
    run: Run
    numeric: bool
    moment: bool
    descending: bool


def _order(parser: Any) -> list[_Key]:
    if parser.word("stable"):
        parser.next()
        if not parser.word("order"):
            raise parser.static.error(9303, parser.token.text, "order")
    if not parser.word("order"):
        return []
    parser.next()
    parser.expect("by")
    keys = []
    while True:
        expr = operators.data(parser.static, parser.single())
        parser.static.single(expr, "order by")
        descending = parser.word("descending")
        if descending or parser.word("ascending"):
            parser.next()
        if parser.word("empty"):
            parser.next()
            raise parser.static.error(9335, f"empty {parser.token.text}")
        if parser.word("collation"):
            raise parser.static.error(9335, "collation")
        keys.append(
            _Key(expr.run, expr.type.kind in NUMBERS, expr.type.kind in MOMENTS, descending)
        )
        if not parser.accept(","):
            return keys


def _envs(bindings: list[Binding], env: Env, at: int = 0) -> Iterator[Env]:
    """The tuple stream, never held as a whole."""
    binding, last = bindings[at], at == len(bindings) - 1
    items = binding.run(env)
    for bound in ([item] for item in items) if binding.each else (items,):
        inner = env.bind(binding.name, bound)
        if last:
            yield inner
        else:
            yield from _envs(bindings, inner, at + 1)


_ITEM_BYTES, _ENV_BYTES = 64, 400


def _runner(
    bindings: list[Binding], test: Callable[[Env], bool] | None, keys: list[_Key], body: Run
) -> Run:
    def run(env: Env) -> list[Any]:
        stream = _envs(bindings, env)
        if test is not None:
            stream = (each for each in stream if test(each))
        if not keys:
            found: list[Any] = []
            for each in stream:
                found += body(each)
                env.meter.tick(1, found, _ITEM_BYTES)
            return found
        envs: list[Env] = []
        for each in stream:
            envs.append(each)
            env.meter.tick(1, envs, _ENV_BYTES)
        for key in reversed(keys):
            # An empty key is least; the sort is stable, and descending turns it as a whole.
            pairs = [(_value(key, each), each) for each in envs]
            pairs.sort(key=cmp_to_key(_descending if key.descending else _ascending))
            envs = [each for _, each in pairs]
        return [item for each in envs for item in body(each)]

    return run


def _value(key: _Key, env: Env) -> Any:
    items = key.run(env)
    if not items:
        return None
    if key.numeric:
        return number(items[0])
    return comparable(items[0]) if key.moment else str(items[0])


def _ascending(one: tuple[Any, ...], two: tuple[Any, ...]) -> int:
    x, y = one[0], two[0]
    if x is None or y is None:
        return (x is not None) - (y is not None)
    return int(x > y) - int(x < y)


def _descending(one: tuple[Any, ...], two: tuple[Any, ...]) -> int:
    return _ascending(two, one)


def quantified(parser: Any) -> Expression:
    """Read ``some $x in .. satisfies ..`` or ``every ..``."""
    static = parser.static
    with static.scoped():
        word = parser.next().text
        bindings = []
        while True:
            name = parser.variable()
            if parser.word("as"):
                raise static.error(9335, "as")
            parser.expect("in")
            source = parser.single()
            static.opaque(source, f"'{word}'")
            bindings.append(Binding(name, source.run, True))
            static.variables[name] = source.type.counted(ONE)
            if not parser.accept(","):
                break
        parser.expect("satisfies")
        test = operators.condition(static, parser.single())
    together = any if word == "some" else all
    return operators.truth(lambda env: together(test(each) for each in _envs(bindings, env)))
