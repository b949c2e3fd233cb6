"""A compiled expression, and the small closures compiled code is made of.

A closure is ``fn(session, variables, row)``: the running session, the frame's local values, the current row.
One call costs about as much as the work it does, so ``closure`` writes the access to a variable, a
column or a constant into the closure itself instead of calling a closure for it. The source is put
together from fixed fragments only, never from user text, and each shape is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.collation import Collation
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import SqlType
from redial_broker.exec.conversion.rules import UNTYPED

if TYPE_CHECKING:
    from redial_broker.exec.closures import Fn, Values
    from redial_broker.exec.session import SessionState


_ABSENT = -1


@dataclass(slots=True, eq=False)
class Expr:
    """A compiled expression."""

    fn: Fn
    """(session, variables, row) -> value."""
    type: SqlType
    """Its static type."""
    nullable: bool = True
    """False only when it can never be NULL."""
    constant: bool = False
    """``value`` is known already."""
    value: Any = None
    slot: int = _ABSENT
    index: int = _ABSENT
    """slot, index: set when it is nothing but a local variable or a column."""
    untyped: bool = False
    """The bare NULL, which takes any type."""
    literal: bool = False
    """Written as a constant."""
    attribute: str = ""
    """The session attribute it reads and nothing else."""
    collation: Collation | None = None
    """Of a string, None for the database default."""
    explicit: bool = False
    """Given by COLLATE."""
    joined: tuple[Expr, ...] = ()
    """What a chain of + joins, where nothing is cut on the way."""

    @property
    def simple(self) -> bool:
        """True when reading it costs nothing and cannot fail."""
        return self.constant or self.slot >= 0 or self.index >= 0 or bool(self.attribute)

    def retyped(self, to_type: SqlType) -> Expr:
        """The same closure seen as another type (where no value changes)."""
        return self if to_type is self.type else replace(self, type=to_type)


def constant(value: Any, of: SqlType, *, literal: bool = False) -> Expr:
    """An expression that always has this value."""
    return Expr(
        lambda session, variables, row: value, of, value is None, True, value, literal=literal
    )


def null() -> Expr:
    """The bare NULL: int until something gives it a type."""
    return Expr(
        lambda session, variables, row: None, UNTYPED, True, True, None, untyped=True, literal=True
    )


def variable(slot: int, of: SqlType) -> Expr:
    """A local variable."""
    return Expr(lambda session, variables, row: variables[slot], of, slot=slot)


def column(index: int, of: SqlType, nullable: bool, collation: Collation | None = None) -> Expr:
    """A column of the current row."""
    return Expr(
        lambda session, variables, row: row[index], of, nullable, index=index, collation=collation
    )


def fold(expr: Expr, parts: Sequence[Expr]) -> Expr:
    """The constant an expression over constants amounts to.

    One that fails stays as it is: its error belongs to the run, not to compilation.
    """
    if not all(part.constant for part in parts):
        return expr
    try:
        value = expr.fn(cast("SessionState", None), cast("Values", ()), ())
    except NotSupported:
        raise
    except SqlError:
        return expr
    return replace(
        expr,
        fn=lambda session, variables, row: value,
        constant=True,
        value=value,
        nullable=value is None,
    )


def _kind(part: Expr) -> str:
    if part.constant:
        return "constant"
    if part.attribute:
        return f"session.{part.attribute}"
    if part.slot >= 0:
        return "variable"
    return "column" if part.index >= 0 else "call"


_ACCESS = {
    "variable": "variables[a{i}]",
    "column": "row[a{i}]",
    "call": "a{i}(session, variables, row)",
}


@lru_cache(maxsize=4096)
def _factory(
    body: str, kinds: tuple[str, ...], names: tuple[str, ...], strict: bool
) -> Callable[..., Fn]:
    """make(a0, a1, ..., names...) -> closure with that body; operands are x0, x1, ..."""
    parameters = [f"{'x' if kind == 'constant' else 'a'}{i}" for i, kind in enumerate(kinds)]
    lines = [f"def make({', '.join([*parameters, *names])}):", " def run(session, variables, row):"]
    for i, kind in enumerate(kinds):
        if kind == "constant":
            continue
        lines.append(f"  x{i} = {_ACCESS.get(kind, kind).format(i=i)}")
        if strict:
            lines.append(f"  if x{i} is None: return None")
    lines.extend(f"  {line}" for line in body.split("\n"))
    lines.append(" return run")
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    made: Callable[..., Fn] = space["make"]
    return made


def closure(body: str, parts: Sequence[Expr], *, strict: bool = True, **names: Any) -> Fn:
    """A closure over operands; ``body`` is its last lines and sees x0, x1, ... and ``names``.

    strict: NULL in any operand gives NULL without running the body.
    """
    if strict and any(part.constant and part.value is None for part in parts):
        return lambda session, variables, row: None
    make = _factory(body, tuple(_kind(part) for part in parts), tuple(names), strict)
    values = [
        part.value
        if part.constant
        else part.slot
        if part.slot >= 0
        else part.index
        if part.index >= 0
        else part.fn
        for part in parts
    ]
    return make(*values, *names.values())


def strict(function: Callable[..., Any], result: SqlType, parts: Sequence[Expr]) -> Expr:
    """A deterministic function of values only: NULL in, NULL out, folded over constants."""
    call = ", ".join(f"x{i}" for i in range(len(parts)))
    fn = closure(f"return f({call})", parts, f=function)
    return fold(Expr(fn, result, any(part.nullable for part in parts)), parts)


def session_attribute(name: str, of: SqlType) -> Expr:
    """An attribute of the session, dotted names included; the names come from our own tables."""
    part = Expr(lambda session, variables, row: None, of, attribute=name)
    part.fn = closure("return x0", [part], strict=False)
    return part
