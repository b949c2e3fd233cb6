"""The table of built-in functions and what a function's compiler gets to see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import (
    INT,
    MAX,
    UNICODE_TYPES,
    SqlType,
    sql_type,
)
from redial_broker.exec.conversion.rules import group, shown_name
from redial_broker.exec.expressions.expr import Expr, constant
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.registry import compile_expression
from redial_broker.exec.expressions.scope import Scope

UNLIMITED = 254
"""Most arguments any function takes."""


@dataclass(slots=True)
class Call:
    """One call being compiled."""

    name: str
    """Upper case."""
    node: ast.FunctionCall
    """For positions."""
    scope: Scope
    """What names mean."""

    @property
    def count(self) -> int:
        """How many arguments were written."""
        return len(self.node.arguments)

    def arg(self, at: int) -> Expr:
        """The compiled argument at a 0-based place."""
        return compile_expression(self.node.arguments[at], self.scope)

    def args(self) -> list[Expr]:
        """All arguments, compiled."""
        return [self.arg(at) for at in range(self.count)]

    def text(self, at: int) -> Expr:
        """An argument as a string: numbers, guids and dates become varchar; xml is refused."""
        return as_string(self.arg(at), at + 1, self.name)

    def integer(self, at: int) -> Expr:
        """An argument as int."""
        argument = self.arg(at)
        return argument if argument.type.name in {"bigint"} else converted(argument, INT)

    def refuse(self, construct: str) -> NotSupported:
        """The refusal of a construct, naming where it stands."""
        return self.scope.refuse(construct, self.node)

    def invalid(self, argument: Expr, at: int) -> SqlError:
        """8116: an argument of a type the function does not take; ``at`` counts from 1."""
        return SqlError(8116, shown_name(argument.type), at, self.name.lower(), aborts="scope")


Build = Callable[[Call], Expr]
FUNCTIONS: dict[str, tuple[int, int, Build]] = {}


def function(name: str, least: int, most: int | None = None) -> Callable[[Build], Build]:
    """Register the compiler of a built-in function that takes ``least`` to ``most`` arguments."""

    def register(build: Build) -> Build:
        FUNCTIONS[name] = (least, least if most is None else most, build)
        return build

    return register


def check_count(name: str, least: int, most: int, count: int) -> None:
    """Raise 174 or 189 when a call has the wrong number of arguments."""
    if least <= count <= most:
        return
    if least == most:
        raise SqlError(174, name.lower(), least, aborts="scope")
    raise SqlError(189, name.lower(), least, most, aborts="scope")


def as_string(argument: Expr, at: int, name: str) -> Expr:
    """A value as a string for a string function."""
    if argument.untyped:
        return constant(None, sql_type("varchar", 1))
    if argument.type.is_string:
        return argument
    if group(argument.type) in {"xml", "variant"}:
        raise SqlError(8116, shown_name(argument.type), at, name.lower(), aborts="scope")
    return converted(argument, sql_type("varchar", 8000))


def wide_like(argument: Expr) -> SqlType:
    """The string type a growing result has: the limit of its kind, (max) for a (max) argument."""
    unicode = argument.type.name in UNICODE_TYPES
    if argument.type.length == MAX:
        return sql_type("nvarchar" if unicode else "varchar", MAX)
    return sql_type("nvarchar", 4000) if unicode else sql_type("varchar", 8000)


def varying(of: SqlType) -> SqlType:
    """The type of variable length beside a char, nchar or binary type."""
    if of.name in {"nchar", "ntext"}:
        return sql_type("nvarchar", of.length)
    if of.name in {"char", "text"}:
        return sql_type("varchar", of.length)
    return sql_type("varbinary", of.length) if of.name in {"binary", "image"} else of
