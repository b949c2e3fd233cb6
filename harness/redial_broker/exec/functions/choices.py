"""ISNULL, COALESCE, NULLIF and CHOOSE under their names as functions."""

from __future__ import annotations

from redial_broker.exec.expressions import choices
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.functions.registry import UNLIMITED, Call, function


@function("ISNULL", 2)
def _isnull(call: Call) -> Expr:
    return choices.isnull(call.arg(0), call.arg(1))


@function("COALESCE", 2, UNLIMITED)
def _coalesce(call: Call) -> Expr:
    return choices.coalesce(call.args())


@function("NULLIF", 2)
def _nullif(call: Call) -> Expr:
    return choices.nullif(call.arg(0), call.arg(1))


@function("CHOOSE", 2, UNLIMITED)
def _choose(call: Call) -> Expr:
    return choices.choose(call.arg(0), call.args()[1:])
