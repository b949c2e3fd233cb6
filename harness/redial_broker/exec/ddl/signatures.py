"""ADD and DROP [COUNTER] SIGNATURE (their pages): who lends a module its rights.

Signed is the module's text as written and, when it has an EXECUTE AS clause, the security
identifier of its principal. ``program.signatures`` gives a running module its signers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.owners import OWNER
from redial_broker.exec import crypto
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.options import word
from redial_broker.exec.keys import private_key
from redial_broker.exec.objects import Function, Module, Procedure, Trigger
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


def signed_bytes(database: Database, module: Module) -> bytes:
    """What a signature of a module covers."""
    data = module.text.encode("utf-16-le")
    if module.execute_as is not None:
        number = database.owner_of(module) if module.execute_as == OWNER else module.execute_as
        principal = database.principal(number)
        data += principal.sid or b"" if principal is not None else b""
    return data


@compiles(ast.AddSignature)
def change_signature(node: ast.AddSignature, context: Context) -> Run:
    """ADD | DROP [COUNTER] SIGNATURE TO | FROM module BY certificates and keys."""
    if node.module.kind not in {None, "OBJECT"}:
        raise context.not_supported(node, f"a signature on {node.module.kind}")
    change = _add if node.verb == "ADD" else _drop

    def run(session: SessionState, variables: Values) -> None:
        database: Database = session.database
        module = find_module(session, node.module.name)
        marks = database.signatures.get(module.object_id, ())
        for signer in node.signers:
            key = database.keys.get((signer.kind, signer.name.text.lower()))
            if key is None or not has_permission(session, "CONTROL", key):
                raise SqlError(15151, "find", signer.kind.lower(), signer.name.text)
            marks = change(session, node, signer, module, key, marks)
        session.engine.journal.put(
            session.work(), database, database.signatures, module.object_id, marks or MISSING
        )
        database.bump(session.work())

    return run


def find_module(session: SessionState, name: ast.ObjectName) -> Module:
    """The module. Raises SqlError 15151, 15560 for what is none or an inline function."""
    found = session.database.resolve(name.schema, name.name, session)
    if found is None or not has_permission(session, "ALTER", found):
        raise SqlError(15151, "find", "object", name.name)
    if not isinstance(found, Procedure | Function | Trigger) or found.kind == "INLINE FUNCTION":
        raise SqlError(15560, name.name)
    return found


def _add(
    session: SessionState,
    node: ast.AddSignature,
    signer: ast.Signer,
    module: Module,
    key: Any,
    marks: tuple[Any, ...],
) -> tuple[Any, ...]:
    """One signature more. Raises SqlError 15557, 15556, 15299 for a blob that does not fit."""
    what = "counter signature" if node.counter else "signature"
    if any(mark == key.thumbprint and counter == node.counter for mark, counter, _ in marks):
        raise SqlError(15557, what, signer.kind.lower(), key.name)
    data = signed_bytes(session.database, module)
    option = signer.option
    if option is not None and option.name == "SIGNATURE":
        blob = bytes(option.value.value)
        n, e = key.public
        if not crypto.verify(n, e, data, blob):
            raise SqlError(15299)
    else:
        private = private_key(
            session, key, word(option.value) if option is not None else None, session.database
        )
        if private is None:
            raise SqlError(15556, signer.kind.lower())
        blob = crypto.sign(private, data)
    if module.execute_as == OWNER:
        session.info(
            "The module being signed is marked to execute as owner. If the owner changes the "
            "signature will not be valid.",
            10,
            15583,
        )
    return (*marks, (key.thumbprint, node.counter, blob))


def _drop(
    session: SessionState,
    node: ast.AddSignature,
    signer: ast.Signer,
    module: Module,
    key: Any,
    marks: tuple[Any, ...],
) -> tuple[Any, ...]:
    """One signature less. Raises SqlError 15558."""
    left = tuple(m for m in marks if m[0] != key.thumbprint or m[1] != node.counter)
    if len(left) == len(marks):
        what = "counter signature" if node.counter else "signature"
        raise SqlError(15558, what, signer.kind.lower(), key.name)
    return left
