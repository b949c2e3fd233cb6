"""Compiling expressions of the syntax tree to closures ``fn(session, variables, row)``.

session: the running one; variables: the frame's local values by slot; row: the current one, the rows of
enclosing queries being a prefix of it. What the static types settle is settled at compile time.
"""

from __future__ import annotations

from redial_broker.exec.conversion import (
    compile_assignment_conversion,
    explicit_conversion,
    resolve_type,
)
from redial_broker.exec.expressions import choices, like, logic, sets
from redial_broker.exec.expressions.arithmetic import binary_operation
from redial_broker.exec.expressions.comparison import compare, key_of
from redial_broker.exec.expressions.expr import (
    Expr,
    closure,
    column,
    constant,
    fold,
    null,
    strict,
    variable,
)
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.registry import compile_condition, compile_expression
from redial_broker.exec.expressions.scope import Scope, ScopeColumn

# Registering the compilers of calls and casts: these build on the modules above.
from redial_broker.exec import functions  # isort: skip
from redial_broker.exec.expressions import casts  # isort: skip
from redial_broker.exec.xml import methods as xml_methods  # isort: skip

__all__ = [
    "Expr",
    "Scope",
    "ScopeColumn",
    "binary_operation",
    "casts",
    "choices",
    "closure",
    "column",
    "compare",
    "compile_assignment_conversion",
    "compile_condition",
    "compile_expression",
    "constant",
    "converted",
    "explicit_conversion",
    "fold",
    "functions",
    "key_of",
    "like",
    "logic",
    "null",
    "resolve_type",
    "sets",
    "strict",
    "variable",
    "xml_methods",
]
