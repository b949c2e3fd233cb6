"""Every expression over variables in the rendered scripts compiles, and every function is known."""

import pytest

from redial.paths import ROOT
from redial.tsql import ast
from redial.tsql.script import parse_script
from redial_broker.engine.types import INT
from redial_broker.exec.conversion import resolve_type
from redial_broker.exec.expressions import Scope, compile_condition, compile_expression, constant
from redial_broker.exec.functions import AGGREGATES
from redial_broker.exec.functions.registry import FUNCTIONS

GENERATED = ROOT / "sql" / "generated"
SCRIPTS = sorted(GENERATED.rglob("*.sql"))
NOT_ALONE = (ast.ColumnRef, ast.Query, ast.Star, ast.DefaultValue)
FROM_ONLY = {"OPENJSON"}
"""Built-in functions that stand in FROM."""


def not_alone(node):
    """Needs a row, a catalog or what is around it."""
    own = isinstance(node, ast.FunctionCall) and (
        len(node.name.parts) > 1 or node.name.name.upper() in FROM_ONLY
    )
    return own or isinstance(node, NOT_ALONE)


def scalar_variables(batch):
    """Slots of the scalar variables and parameters a batch declares."""
    found = {}
    for node in batch.walk():
        of = getattr(node, "data_type", None)
        name = getattr(node, "name", None) or getattr(node, "variable", None)
        name = name.name if isinstance(name, ast.Variable) else name
        built_in = isinstance(of, ast.DataType) and len(of.name.parts) == 1
        if built_in and isinstance(name, str) and name.startswith("@"):
            found[name.lower()] = (len(found), resolve_type(of))
    return found


def outermost(node):
    """The largest expressions and conditions that need no row, no function of our own, no arm."""
    if isinstance(node, ast.FunctionCall) and node.name.name.upper() in FROM_ONLY:
        return
    if (
        isinstance(node, (ast.Expression, ast.Predicate))
        and not isinstance(node, (ast.Identifier, ast.When, ast.Over))
        and not any(not_alone(part) for part in node.walk())
    ):
        yield node
        return
    for child in node.children():
        yield from outermost(child)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_the_expressions_of_a_rendered_script_compile(script):
    for batch in parse_script(script.read_text(encoding="utf-8-sig")):
        namespaces = {
            node.prefix: node.uri for node in batch.walk() if isinstance(node, ast.XmlNamespace)
        }
        scope = Scope(
            variables=scalar_variables(batch),
            source=batch.source,
            namespaces=namespaces,
            aggregate=lambda call: constant(1, INT),
            window=lambda call: constant(1, INT),
        )
        for node in outermost(batch):
            names = {part.name.lower() for part in node.walk() if isinstance(part, ast.Variable)}
            if names <= scope.variables.keys():
                is_value = isinstance(node, ast.Expression)
                (compile_expression if is_value else compile_condition)(node, scope)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_the_functions_of_a_rendered_script_are_known(script):
    for batch in parse_script(script.read_text(encoding="utf-8-sig")):
        called = {
            node.name.name.upper()
            for node in batch.walk()
            if isinstance(node, ast.FunctionCall)
            and len(node.name.parts) == 1
            and node.over is None
        }
        assert called <= FUNCTIONS.keys() | AGGREGATES | FROM_ONLY
