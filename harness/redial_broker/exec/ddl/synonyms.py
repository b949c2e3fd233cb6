"""CREATE and DROP SYNONYM.

A synonym is a name for an object that need not exist until it is used (CREATE SYNONYM page): in
SELECT, INSERT, UPDATE, DELETE, MERGE, EXECUTE and calls of functions, not in definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.common import lock_definition, may_create, refuse_taken, schema_for
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.objects import Synonym
from redial_broker.exec.registry import Run, compiles

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


@compiles(ast.CreateSynonym)
def create_synonym(node: ast.CreateSynonym, context: Context) -> Run:
    """CREATE SYNONYM name FOR object; the object is looked up when the synonym is used."""
    if node.target.server is not None:
        raise context.not_supported(node, "a synonym for an object of a linked server")
    if node.name.name.startswith("#"):
        raise context.not_supported(node, "a temporary synonym: there is none on a server")

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.name)
        database = session.database
        schema = schema_for(session, database, node.name)
        may_create(session, database, schema, "CREATE SYNONYM")
        refuse_taken(database, schema.name, node.name.name)
        transaction = session.work()
        number = database.next_object_id()
        lock_definition(session, transaction, database, number)
        database.put(
            transaction,
            Synonym(
                node.name.name,
                schema.name,
                number,
                "SYNONYM",
                0,
                node.target,
                database,
                node.target.parts,
            ),
        )

    return run
