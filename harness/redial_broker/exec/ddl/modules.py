"""CREATE, ALTER and CREATE OR ALTER of procedures, views and functions.

A module keeps its text as written (sys.sql_modules), its syntax tree, and the two SET options that
stick to it. A procedure's body is compiled when it is made, which finds undeclared variables and
what we refuse; objects are looked up at the first run of each statement, as the server does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.owners import OWNER
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.common import (
    dotted,
    lock_definition,
    may_create,
    refuse_taken,
    schema_for,
)
from redial_broker.exec.ddl.functions import check_body
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.options import word
from redial_broker.exec.ddl.probing import probe, probe_module
from redial_broker.exec.ddl.views import bind_view
from redial_broker.exec.dependencies import names_in, refuse_bound
from redial_broker.exec.execute import procedure_program
from redial_broker.exec.impersonation import may_impersonate
from redial_broker.exec.objects import Function, Module, Procedure, View
from redial_broker.exec.principals import ROLE
from redial_broker.exec.query.views import view_rowset
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.routines import check_inline, function_program
from redial_broker.exec.security import has_permission

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

MAXIMUM_PARAMETERS = 2100
TEMPORARY_ID = -1
"""Object id of temporary procedures: they are in no catalog."""

OPTIONS_WITHOUT_EFFECT = frozenset(
    {
        "RECOMPILE",
        "SCHEMABINDING",
        "VIEW_METADATA",
        "CALLED ON NULL INPUT",
        "INLINE",
        "ENCRYPTION",
    }
)
"""RECOMPILE: there are no plans. SCHEMABINDING is looked at by whoever changes what a module refers
to (``exec.dependencies``), ENCRYPTION by the catalog."""

_KINDS: dict[type, tuple[type[Module], str, str]] = {
    ast.CreateProcedure: (Procedure, "PROCEDURE", "CREATE PROCEDURE"),
    ast.CreateView: (View, "VIEW", "CREATE VIEW"),
    ast.CreateScalarFunction: (Function, "SCALAR FUNCTION", "CREATE FUNCTION"),
    ast.CreateInlineFunction: (Function, "INLINE FUNCTION", "CREATE FUNCTION"),
    ast.CreateTableFunction: (Function, "TABLE FUNCTION", "CREATE FUNCTION"),
}

_VERB = re.compile(r"\b(create\s+or\s+alter|alter|create)\b", re.IGNORECASE)


@compiles(
    ast.CreateProcedure,
    ast.CreateView,
    ast.CreateScalarFunction,
    ast.CreateInlineFunction,
    ast.CreateTableFunction,
)
def create_module(node: Any, context: Context) -> Run:
    """CREATE | ALTER | CREATE OR ALTER PROCEDURE | VIEW | FUNCTION."""
    refuse_options(node, context)
    class_, kind, permission = _KINDS[type(node)]
    if class_ is Function:
        check_body(node, context)
    temporary = node.name.name.startswith("#")
    if temporary and (class_ is not Procedure or node.name.name.startswith("##")):
        raise context.not_supported(
            node,
            "a global temporary procedure"
            if class_ is Procedure
            else f"a temporary {kind.lower()}",
        )
    check_binding(node, context)

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.name)
        if node.name.database is not None:
            raise SqlError(166, kind.split()[-1])
        database: Database = session.database
        check_parameters(node)
        if temporary:
            create_temporary_procedure(session, node, context)
            return
        old = existing_module(session, database, node, class_)
        if old is not None:
            refuse_bound(database, old, "ALTER", dotted(node.name))
        transaction = session.work()
        if old is None:
            schema = schema_for(session, database, node.name)
            may_create(session, database, schema, permission)
            refuse_taken(database, schema.name, node.name.name)
            number, name, home = database.next_object_id(), node.name.name, schema.name
        else:
            number, name, home = old.object_id, old.name, old.schema
        lock_definition(session, transaction, database, number)
        module = class_(
            name,
            home,
            number,
            kind,
            0,
            node,
            definition_text(node, context),
            context.program.source,
            {
                "quoted_identifier": session.options.quoted_identifier,
                "ansi_nulls": session.options.ansi_nulls,
            },
            execute_as(session, database, node, owner_of(database, home, number)),
            None,
            database,
        )
        if isinstance(module, View):
            bind_view(session, module)
        elif isinstance(module, Procedure):
            probe_module(
                session, module, database, lambda: procedure_program(session, module, database)
            )
        elif isinstance(module, Function):
            probe_module(session, module, database, lambda: function_program(session, module))
            if kind == "INLINE FUNCTION":
                check_inline(session, module)
        elif isinstance(module, View):
            view_rowset(module, context)  # a view's names are not deferred: 208 now
        database.put(transaction, module)
        transaction.log_used += 500

    return run


def refuse_options(node: Any, context: Context) -> None:
    """Refuse what would change how the module runs."""
    for option in node.options:
        if option.name == "RETURNS NULL ON NULL INPUT" and isinstance(
            node, ast.CreateScalarFunction
        ):
            continue  # the call looks at it
        if option.name in OPTIONS_WITHOUT_EFFECT:
            continue
        raise context.not_supported(option, f"WITH {option.name}")
    if getattr(node, "number", None) is not None:
        raise context.not_supported(node, "numbered procedures")
    if getattr(node, "for_replication", False):
        raise context.not_supported(node, "FOR REPLICATION")


def check_binding(node: Any, context: Context) -> None:
    """WITH SCHEMABINDING needs two-part names (4512) and no ``SELECT *`` (1054)."""
    if not any(option.name == "SCHEMABINDING" for option in node.options) or isinstance(
        node, ast.CreateProcedure
    ):
        return
    kind = "view" if isinstance(node, ast.CreateView) else "function"
    for part in node.walk():
        if isinstance(part, ast.SelectItem) and isinstance(part.value, ast.Star):
            raise context.fail(part, SqlError(1054, "*"))
    for name in names_in(node):
        if len(name.parts) != 2 or (
            [p.lower() for p in name.parts] == [p.lower() for p in node.name.parts]
        ):
            raise context.fail(name, SqlError(4512, kind, dotted(node.name), dotted(name)))


def create_temporary_procedure(session: SessionState, node: Any, context: Context) -> None:
    """#name: a procedure of the session, gone with it (CREATE PROCEDURE page)."""
    key = node.name.name.lower()
    old = session.temp_procedures.get(key)
    if node.verb == "CREATE" and old is not None:
        raise SqlError(2714, node.name.name, state=3)
    if node.verb == "ALTER" and old is None:
        raise SqlError(208, node.name.name, state=6)
    module = Procedure(
        node.name.name,
        "dbo",
        TEMPORARY_ID,
        "PROCEDURE",
        0,
        node,
        definition_text(node, context),
        context.program.source,
        {
            "quoted_identifier": session.options.quoted_identifier,
            "ansi_nulls": session.options.ansi_nulls,
        },
        execute_as(session, session.database, node),
        None,
        session.database,
    )
    probe(session, procedure_program(session, module, session.database))
    session.engine.journal.put(session.work(), session, session.temp_procedures, key, module)


def existing_module(
    session: SessionState, database: Database, node: Any, class_: type[Module]
) -> Module | None:
    """The module ALTER means; None when CREATE is to make a new one. Raises 208, 2714, 2010."""
    if node.verb == "CREATE":
        return None
    found = database.resolve(node.name.schema, node.name.name, session)
    if node.verb == "CREATE OR ALTER" and found is not None and node.name.schema is None:
        default = (
            (session.user.default_schema or "dbo").lower() if session.user is not None else "dbo"
        )
        if found.schema.lower() != default:
            return None
    if found is None:
        if node.verb == "ALTER":
            raise SqlError(208, dotted(node.name), state=6)
        return None
    if not isinstance(found, class_) or found.kind != _KINDS[type(node)][1]:
        raise SqlError(2010, dotted(node.name))
    if not has_permission(session, "ALTER", found):
        raise SqlError(
            3701,
            "alter",
            "procedure" if class_ is Procedure else "view",
            dotted(node.name),
            state=20,
        )
    return found


def check_parameters(node: ast.Node) -> None:
    """Raise SqlError 134 for two parameters of one name, 180 for too many, 346 for a table type."""
    names: set[str] = set()
    for parameter in getattr(node, "parameters", ()):
        name = parameter.variable.name
        if name.lower() in names:
            raise SqlError(134, name, aborts="batch")
        names.add(name.lower())
    if len(names) > MAXIMUM_PARAMETERS:
        raise SqlError(180, len(names), MAXIMUM_PARAMETERS)


def definition_text(node: Any, context: Context) -> str:
    """The batch as sys.sql_modules keeps it: ALTER reads CREATE, OR ALTER is left out."""
    text = context.program.source.text
    if isinstance(context.statement, ast.CreateSchema):
        return text[node.pos : node.end]
    if node.verb == "CREATE":
        return text
    found = _VERB.search(text, node.pos)
    if found is None:
        return text
    verb = "CREATE  " if node.verb == "CREATE OR ALTER" else "CREATE"
    return text[: found.start()] + verb + text[found.end() :]


def owner_of(database: Database, schema: str, number: int) -> int:
    """Principal id of whom an object belongs to: its own owner, else its schema's."""
    return database.owners.get(number) or database.schemas[schema.lower()].owner


def execute_as(
    session: SessionState, database: Database, node: Any, owner: int | None = None
) -> int | None:
    """Principal id of EXECUTE AS: None for CALLER, OWNER for its owner. Raises SqlError 15151.

    owner: of the module; None: whoever makes it. What runs as him is made by who may impersonate
    him (EXECUTE AS clause page: without a clause, and for CALLER, nobody is asked).
    """
    clause = node.execute_as
    if clause is None:
        return None
    name = clause if isinstance(clause, str) else word(clause)
    if isinstance(clause, str) and clause.upper() == "CALLER":
        return None
    if isinstance(clause, str) and clause.upper() == "OWNER":
        by = next((each for each in database.principals.values() if each.id == owner), None)
        if by is not None and by.type != ROLE and not may_impersonate(session, by):
            raise SqlError(15151, "execute as", "user", by.name)
        return OWNER
    if isinstance(clause, str) and clause.upper() == "SELF":
        return session.user.id if session.user is not None else 1
    principal = database.principals.get(name.lower())
    if principal is None or principal.type != "S" or not may_impersonate(session, principal):
        raise SqlError(15151, "execute as", "user", name)
    return principal.id
