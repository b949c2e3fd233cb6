"""sp_refreshview and sp_refreshsqlmodule: bind a module to what its tables are now."""

from __future__ import annotations

from redial_broker.catalog.names import find_object
from redial_broker.catalog.procedures.arguments import REQUIRED, Call, procedure
from redial_broker.engine.errors import SqlError
from redial_broker.exec.ddl.common import lock_definition
from redial_broker.exec.ddl.views import bind_view
from redial_broker.exec.objects import Module, View
from redial_broker.exec.security import has_permission


@procedure("sp_refreshview", viewname=REQUIRED)
def sp_refreshview(call: Call) -> None:
    """The columns of a view that says * are those there are now."""
    _refresh(call, "viewname", View)


@procedure("sp_refreshsqlmodule", name=REQUIRED, namespace=None)
def sp_refreshsqlmodule(call: Call) -> None:
    """The same for any module; those that are no views keep nothing about their tables."""
    _refresh(call, "name", Module)


def _refresh(call: Call, argument: str, class_: type[Module]) -> None:
    session, name = call.session, call.text(argument) or ""
    database, found = find_object(session, name)
    if not isinstance(found, class_) or not has_permission(session, "ALTER", found):
        raise SqlError(15165, name)
    if not isinstance(found, View):
        return
    transaction = session.work()
    lock_definition(session, transaction, database, found.object_id)
    twin = found.copy(database)
    bind_view(session, twin)
    database.put(transaction, twin)
