"""The two entry points of compilation, and the table of who compiles which node."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql.ast import Expression, Node, Predicate
from redial_broker.engine.errors import SqlError
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.scope import Scope

if TYPE_CHECKING:
    from redial_broker.exec.closures import Test

_VALUES: dict[type, Callable[[Node, Scope], Expr]] = {}
_CONDITIONS: dict[type, Callable[[Node, Scope], Test]] = {}


def compiles(*classes: type) -> Callable[..., Any]:
    """Register the compiler of value nodes: (node, scope) -> Expr."""

    def register(function: Callable[[Node, Scope], Expr]) -> Callable[..., Any]:
        for cls in classes:
            _VALUES[cls] = function
        return function

    return register


def condition(*classes: type) -> Callable[..., Any]:
    """Register the compiler of predicate nodes: (node, scope) -> closure of True, False or None."""

    def register(function: Callable[[Node, Scope], Test]) -> Callable[..., Any]:
        for cls in classes:
            _CONDITIONS[cls] = function
        return function

    return register


def compile_expression(node: Expression, scope: Scope) -> Expr:
    """Compile a value. Raises SqlError for names and types that do not fit, NotSupported."""
    if scope.replaced is not None:
        replaced = scope.replaced(node)
        if replaced is not None:
            return replaced
    made: Expr = _compile(_VALUES, node, scope)
    return made


def compile_condition(node: Predicate, scope: Scope) -> Test:
    """Compile a condition to a closure of True, False or None (unknown)."""
    made: Test = _compile(_CONDITIONS, node, scope)
    return made


def _compile(table: dict[type, Callable[..., Any]], node: Node, scope: Scope) -> Any:
    compiler = table.get(type(node))
    if compiler is None:
        words = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(node).__name__)
        raise scope.refuse(f"{words.upper()} here", node)
    try:
        return compiler(node, scope)
    except SqlError as error:
        if not error.line:
            error.line = scope.line(node)
        raise
