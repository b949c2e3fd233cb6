"""CREATE, ALTER and DROP of message types, contracts, services and broker priorities.

Permissions: the statement's own on the database for CREATE, REFERENCES on what it names, ALTER or
CONTROL on the object to change (the statements' pages).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.broker.arguments import broker_of
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.common import dotted
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.principals import find_owner
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission, securable
from redial_broker.ssb import ddl, names
from redial_broker.ssb.queue import Queue

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

_VALIDATIONS = {
    "NONE": names.NONE,
    "EMPTY": names.EMPTY,
    "WELL_FORMED_XML": names.XML,
    "VALID_XML": names.XML,
}
_SENDERS = {
    "INITIATOR": names.BY_INITIATOR,
    "TARGET": names.BY_TARGET,
    "ANY": names.BY_ANY,
}
LOG = 300
"""Approximate bytes of log per definition."""


def may_create(session: SessionState, permission: str) -> None:
    """Raises SqlError 262 without the CREATE permission."""
    if not has_permission(session, permission, session.database):
        raise SqlError(262, permission, session.database.name)


def may_change(
    session: SessionState, item: Any, verb: str, what: str, permission: str = "ALTER"
) -> None:
    """Raises SqlError 15151 without ALTER (DROP: CONTROL) on an existing definition."""
    if item is not None and not has_permission(session, permission, item):
        raise SqlError(15151, verb, what, item.name)


def owner_id(session: SessionState, owner: ast.Identifier | None) -> int:
    """Principal id of AUTHORIZATION, else of the current user."""
    if owner is not None:
        return find_owner(session.database, owner.text)
    return session.user.id if session.user is not None else 1


# ---------------------------------------------------------------------- message types
def _validation(node: ast.MessageTypeDefinition) -> str:
    return _VALIDATIONS[node.validation or "NONE"]


def _collection(session: SessionState, node: ast.MessageTypeDefinition) -> Any:
    """The schema collection of VALID_XML, None without one. Raises SqlError 6314."""
    if node.schema_collection is None:
        return None
    found = session.database.find_collection(node.schema_collection)
    if found is None:
        raise SqlError(6314, dotted(node.schema_collection))
    return found


@compiles(ast.CreateMessageType)
def create_message_type(node: ast.CreateMessageType, context: Context) -> Run:
    """CREATE MESSAGE TYPE."""
    broker = broker_of(context)
    validation = _validation(node)

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.text)
        may_create(session, "CREATE MESSAGE TYPE")
        ddl.create_message_type(
            broker,
            session.work(),
            node.name.text,
            validation,
            owner_id(session, node.owner),
            _collection(session, node),
        )
        session.work().log_used += LOG

    return run


@compiles(ast.AlterMessageType)
def alter_message_type(node: ast.AlterMessageType, context: Context) -> Run:
    """ALTER MESSAGE TYPE: the validation."""
    broker = broker_of(context)
    validation = _validation(node)

    def run(session: SessionState, variables: Values) -> None:
        may_change(session, broker.message_types.get(node.name.text), "alter", "message type")
        ddl.alter_message_type(
            broker, session.work(), node.name.text, validation, _collection(session, node)
        )

    return run


# ---------------------------------------------------------------------- contracts
@compiles(ast.CreateContract)
def create_contract(node: ast.CreateContract, context: Context) -> Run:
    """CREATE CONTRACT."""
    broker = broker_of(context)
    usages = [(item.message_type.text, _SENDERS[item.sent_by]) for item in node.messages]

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.text)
        may_create(session, "CREATE CONTRACT")
        for name, _ in usages:
            found = broker.message_types.get(name)
            if found is not None and found.message_type_id >= names.FIRST_USER_ID:
                session.check_permission("REFERENCES", found)
        ddl.create_contract(
            broker, session.work(), node.name.text, usages, owner_id(session, node.owner)
        )
        session.work().log_used += LOG

    return run


# ---------------------------------------------------------------------- services
def find_queue(session: SessionState, name: ast.ObjectName) -> Queue:
    """The queue a definition names. Raises SqlError 15151."""
    found = session.database.resolve(name.schema, name.name, session)
    if not isinstance(found, Queue):
        raise SqlError(15151, "find", "queue", dotted(name))
    return found


@compiles(ast.CreateService)
def create_service(node: ast.CreateService, context: Context) -> Run:
    """CREATE SERVICE; needs CONTROL on the queue and REFERENCES on the contracts."""
    broker = broker_of(context)
    contracts = [item.text for item in node.contracts]

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.text)
        may_create(session, "CREATE SERVICE")
        queue = find_queue(session, node.queue)
        _may_use(session, broker, queue, contracts)
        ddl.create_service(
            broker, session.work(), node.name.text, queue, contracts, owner_id(session, node.owner)
        )
        session.work().log_used += LOG

    return run


def _may_use(session: SessionState, broker: Any, queue: Queue | None, contracts: list[str]) -> None:
    if queue is not None and not has_permission(session, "CONTROL", queue):
        raise SqlError(15151, "find", "queue", queue.name)
    for name in contracts:
        found = broker.contracts.get(name)
        if found is not None and found.contract_id >= names.FIRST_USER_ID:
            session.check_permission("REFERENCES", found)


@compiles(ast.AlterService)
def alter_service(node: ast.AlterService, context: Context) -> Run:
    """ALTER SERVICE."""
    broker = broker_of(context)
    add = [item.contract.text for item in node.changes if item.verb == "ADD"]
    drop = [item.contract.text for item in node.changes if item.verb == "DROP"]

    def run(session: SessionState, variables: Values) -> None:
        may_change(session, broker.services.get(node.name.text), "alter", "service")
        queue = find_queue(session, node.queue) if node.queue is not None else None
        _may_use(session, broker, queue, add)
        ddl.alter_service(broker, session.work(), node.name.text, queue, add, drop)

    return run


# ---------------------------------------------------------------------- priorities
def _criterion(stated: Any) -> str | None:
    """Name a criterion asks for, None for ANY."""
    if isinstance(stated, ast.Identifier):
        return stated.text
    return str(stated.value) if isinstance(stated, ast.Literal) else None


def _level(node: ast.BrokerPriorityDefinition, context: Context) -> int:
    level = 5 if node.level in {None, "DEFAULT"} else int(node.level)
    if not 1 <= level <= 10:
        raise context.fail(node, SqlError(102, str(node.level), severity=15, aborts="batch"))
    return level


@compiles(ast.CreateBrokerPriority)
def create_priority(node: ast.CreateBrokerPriority, context: Context) -> Run:
    """CREATE BROKER PRIORITY."""
    broker = broker_of(context)
    level = _level(node, context)

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.text)
        may_create(session, "ALTER")
        ddl.create_priority(
            broker,
            session.work(),
            node.name.text,
            _criterion(node.contract),
            _criterion(node.local_service),
            _criterion(node.remote_service),
            level,
        )

    return run


@compiles(ast.AlterBrokerPriority)
def alter_priority(node: ast.AlterBrokerPriority, context: Context) -> Run:
    """ALTER BROKER PRIORITY: criteria not stated stay."""
    broker = broker_of(context)
    changes: dict[str, Any] = {
        field: _criterion(stated)
        for field, stated in (
            ("contract", node.contract),
            ("local_service", node.local_service),
            ("remote_service", node.remote_service),
        )
        if stated is not None
    }
    if node.level is not None:
        changes["level"] = _level(node, context)

    def run(session: SessionState, variables: Values) -> None:
        may_create(session, "ALTER")
        ddl.alter_priority(broker, session.work(), node.name.text, **changes)

    return run


# ---------------------------------------------------------------------- DROP
def dropper(mapping: str, what: str, drop: Any) -> Any:
    """A function for DROP of what a mapping of the broker holds under its name."""

    def drop_one(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
        if len(name.parts) > 1:
            raise SqlError(9609, what, dotted(name), 0)
        broker = session.database.broker
        found = getattr(broker, mapping).get(name.name)
        if found is None and if_exists:
            return
        if mapping == "priorities":
            may_create(session, "ALTER")
        else:
            may_change(session, found, "drop", what, "CONTROL")
        drop(broker, session.work(), name.name)
        if found is not None and mapping != "priorities":  # its permissions and properties too
            place = securable(found, session.database)
            session.database.forget(session.work(), place.class_, place.major)
        session.work().log_used += LOG

    return drop_one


drops("MESSAGE TYPE")(dropper("message_types", "message type", ddl.drop_message_type))
drops("CONTRACT")(dropper("contracts", "service contract", ddl.drop_contract))
drops("SERVICE")(dropper("services", "service", ddl.drop_service))
drops("BROKER PRIORITY")(dropper("priorities", "broker priority", ddl.drop_priority))
