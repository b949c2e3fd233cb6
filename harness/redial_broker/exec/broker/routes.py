"""CREATE, ALTER and DROP of routes and remote service bindings (their statements' pages)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.broker.arguments import broker_of
from redial_broker.exec.broker.definitions import dropper, may_change, may_create, owner_id
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.impersonation import may_impersonate
from redial_broker.exec.registry import Run, compiles
from redial_broker.ssb import routes
from redial_broker.ssb.routing import CONFIGURATION_SERVICE

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


# ---------------------------------------------------------------------- routes
def _options(node: ast.RouteDefinition, context: Context) -> dict[str, Any]:
    """The options of a route."""

    def text(literal: ast.Literal | None) -> str | None:
        return None if literal is None else str(literal.value)

    if text(node.service_name) == CONFIGURATION_SERVICE:
        raise context.not_supported(
            node.service_name or node,
            f"dynamic routing (a route to the service {CONFIGURATION_SERVICE})",
        )
    return {
        "service_name": text(node.service_name),
        "broker_instance": text(node.broker_instance),
        "lifetime": None if node.lifetime is None else int(cast("int", node.lifetime.value)),
        "address": text(node.address),
        "mirror_address": text(node.mirror_address),
    }


@compiles(ast.CreateRoute)
def create_route(node: ast.CreateRoute, context: Context) -> Run:
    """CREATE ROUTE. An address outside the instance is kept; nothing is ever sent there."""
    broker = broker_of(context)
    options = _options(node, context)

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.text)
        may_create(session, "CREATE ROUTE")
        routes.create_route(
            broker, session.work(), node.name.text, owner=owner_id(session, node.owner), **options
        )

    return run


@compiles(ast.AlterRoute)
def alter_route(node: ast.AlterRoute, context: Context) -> Run:
    """ALTER ROUTE; clauses left out stay as they are."""
    broker = broker_of(context)
    options = _options(node, context)

    def run(session: SessionState, variables: Values) -> None:
        may_change(session, broker.routes.get(node.name.text), "alter", "route")
        routes.alter_route(broker, session.work(), node.name.text, **options)

    return run


drops("ROUTE")(dropper("routes", "route", routes.drop_route))


# ---------------------------------------------------------------------- remote service bindings
def _user(session: SessionState, name: ast.Identifier) -> int:
    """Principal id of WITH USER. Raises SqlError 15151, 28083."""
    found = session.database.principals.get(name.text.lower())
    if found is None or not may_impersonate(session, found):
        raise SqlError(15151, "find", "user", name.text)
    if found.type != "S":
        raise SqlError(28083, name.text)
    return found.id


@compiles(ast.CreateRemoteServiceBinding)
def create_binding(node: ast.CreateRemoteServiceBinding, context: Context) -> Run:
    """CREATE REMOTE SERVICE BINDING; it secures dialogs to the service even inside the instance."""
    broker = broker_of(context)
    if node.user is None:
        raise context.not_supported(node, "CREATE REMOTE SERVICE BINDING without USER")

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.text)
        may_create(session, "CREATE REMOTE SERVICE BINDING")
        routes.create_binding(
            broker,
            session.work(),
            node.name.text,
            str(node.service.value),
            _user(session, cast("ast.Identifier", node.user)),
            bool(node.anonymous),
            owner_id(session, node.owner),
        )

    return run


@compiles(ast.AlterRemoteServiceBinding)
def alter_binding(node: ast.AlterRemoteServiceBinding, context: Context) -> Run:
    """ALTER REMOTE SERVICE BINDING; what is left out stays."""
    broker = broker_of(context)

    def run(session: SessionState, variables: Values) -> None:
        may_change(session, broker.bindings.get(node.name.text), "alter", "remote service binding")
        routes.alter_binding(
            broker,
            session.work(),
            node.name.text,
            None if node.user is None else _user(session, node.user),
            node.anonymous,
        )

    return run


drops("REMOTE SERVICE BINDING")(dropper("bindings", "remote service binding", routes.drop_binding))
