"""BEGIN DIALOG, SEND, END CONVERSATION, MOVE CONVERSATION, BEGIN CONVERSATION TIMER."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import nvarchar
from redial_broker.exec.broker import arguments
from redial_broker.exec.broker.arguments import broker_of
from redial_broker.exec.context import Context
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission
from redial_broker.ssb import names, verbs
from redial_broker.ssb.broker import Broker

if TYPE_CHECKING:
    from redial_broker.exec.closures import Value, Values
    from redial_broker.exec.session import SessionState


@compiles(ast.BeginDialog)
def compile_begin_dialog(node: ast.BeginDialog, context: Context) -> Run:
    """BEGIN DIALOG: the variable gets the initiator's handle."""
    statement = "BEGIN DIALOG"
    broker = broker_of(context)
    slot = arguments.output(context, node.handle, "dialog handle", statement)
    service = arguments.name(context, node.from_service, "service name", statement)
    far = arguments.name(context, node.to_service, "target service name", statement)
    instance = _optional(
        node.broker_instance, lambda n: arguments.name(context, n, "broker instance", statement)
    )
    contract = _optional(
        node.contract, lambda n: arguments.name(context, n, "service contract name", statement)
    )
    related = _optional(
        node.related_conversation, lambda n: arguments.handle(context, n, statement)
    )
    group = _optional(
        node.related_conversation_group, lambda n: arguments.group(context, n, statement)
    )
    lifetime = _optional(
        node.lifetime, lambda n: arguments.number(context, n, "lifetime", statement)
    )
    encryption = node.encryption is not False

    def run(session: SessionState, variables: Values) -> None:
        from_service = service(session, variables)
        contract_name = contract(session, variables) if contract else names.DEFAULT
        _may_begin(session, broker, from_service, contract_name)
        variables[slot] = verbs.begin_dialog(
            broker,
            session,
            from_service,
            far(session, variables),
            broker_instance=instance(session, variables) if instance else None,
            contract=contract_name,
            related_conversation=_given(related, session, variables, 8418),
            related_group=_given(group, session, variables, 8420),
            lifetime=_given(lifetime, session, variables, 8406, 1, names.NEVER),
            encryption=encryption,
        )
        session.set_rowcount(0)

    return run


def _optional(node: Any, make: Any) -> Value | None:
    return make(node) if node is not None else None


def _given(
    argument: Value | None, session: SessionState, variables: Values, number: int, *details: Any
) -> Any:
    """The value of an option; None when it was not stated, error ``number`` when it is NULL."""
    if argument is None:
        return None
    found = argument(session, variables)
    if found is None:
        raise SqlError(number, *details)
    return found


def _may_begin(
    session: SessionState, broker: Broker, service_name: Any, contract_name: Any
) -> None:
    """RECEIVE on the initiating service's queue and REFERENCES on the contract (BEGIN page)."""
    service = broker.services.get(service_name)
    contract = broker.contracts.get(contract_name)
    if service is not None:
        session.check_permission("RECEIVE", service.queue)
    if contract is not None and contract.contract_id >= names.FIRST_USER_ID:
        session.check_permission("REFERENCES", contract)


@compiles(ast.Send)
def compile_send(node: ast.Send, context: Context) -> Run:
    """SEND to one conversation, or to several at once."""
    broker = broker_of(context)
    handles = [arguments.handle(context, item, "SEND") for item in node.handles]
    type_name = _optional(
        node.message_type, lambda n: arguments.name(context, n, "message type name", "SEND")
    )
    body = _optional(node.body, lambda n: arguments.body(context, n))
    endpoints, send = broker.endpoints, verbs.send

    def run_one(session: SessionState, variables: Values) -> None:
        handle = only(session, variables)
        endpoint = endpoints.get(handle)
        if endpoint is not None:
            session.check_permission("RECEIVE", endpoint.service.queue)
        send(
            broker,
            session,
            handle,
            type_name(session, variables) if type_name else None,
            body(session, variables) if body else None,
        )
        session.rowcount = 0

    def run_many(session: SessionState, variables: Values) -> None:
        found = [handle(session, variables) for handle in handles]
        for handle in found:
            endpoint = endpoints.get(handle)
            if endpoint is not None:
                session.check_permission("RECEIVE", endpoint.service.queue)
        verbs.send_many(
            broker,
            session,
            found,
            type_name(session, variables) if type_name else None,
            body(session, variables) if body else None,
        )
        session.rowcount = 0

    if node.in_list and len(handles) > 1:
        return run_many
    only = handles[0]
    return run_one


@compiles(ast.EndConversation)
def compile_end(node: ast.EndConversation, context: Context) -> Run:
    """END CONVERSATION, plain, WITH ERROR or WITH CLEANUP."""
    broker = broker_of(context)
    handle = arguments.handle(context, node.handle, "END CONVERSATION")
    with_error = node.error is not None or node.description is not None
    code = _optional(
        node.error, lambda n: arguments.number(context, n, "error code", "END CONVERSATION")
    )
    text = _optional(
        node.description,
        lambda n: arguments.value(
            context, n, nvarchar(3000), "error description", "END CONVERSATION"
        ),
    )

    def run(session: SessionState, variables: Values) -> None:
        found = handle(session, variables)
        _may_end(session, broker, found, node.cleanup)
        if node.cleanup:
            verbs.end_with_cleanup(broker, session, found)
        elif with_error:
            verbs.end_with_error(
                broker,
                session,
                found,
                code(session, variables) if code else None,
                text(session, variables) if text else None,
            )
        else:
            verbs.end_conversation(broker, session, found)
        session.rowcount = 0

    return run


def _may_end(session: SessionState, broker: Broker, handle: Any, cleanup: bool) -> None:
    """END: the owner of the conversation or a db_owner (END CONVERSATION page).

    A CLOSED conversation may be cleaned up by a db_owner only (28006).
    """
    endpoint = broker.endpoints.get(handle)
    if endpoint is None:
        return
    if cleanup and endpoint.state(session.transaction) == "CD":
        if not has_permission(session, "CONTROL", broker.database):
            raise SqlError(28006, "end", handle, "CD")
        return
    session.check_permission("CONTROL", endpoint.service)


@compiles(ast.BeginTimer)
def compile_begin_timer(node: ast.BeginTimer, context: Context) -> Run:
    """BEGIN CONVERSATION TIMER; needs SEND on the service (its page), unlike the other verbs."""
    statement = "BEGIN CONVERSATION TIMER"
    broker = broker_of(context)
    handle = arguments.handle(context, node.handle, statement)
    timeout = arguments.number(context, node.timeout, "timeout", statement)

    def run(session: SessionState, variables: Values) -> None:
        found = handle(session, variables)
        endpoint = broker.endpoints.get(found)
        if endpoint is not None:
            session.check_permission("SEND", endpoint.service)
        verbs.begin_timer(broker, session, found, timeout(session, variables))
        session.rowcount = 0

    return run


@compiles(ast.MoveConversation)
def compile_move(node: ast.MoveConversation, context: Context) -> Run:
    """MOVE CONVERSATION handle TO group."""
    broker = broker_of(context)
    handle = arguments.handle(context, node.handle, "MOVE CONVERSATION")
    group = arguments.group(context, node.group, "MOVE CONVERSATION")

    def run(session: SessionState, variables: Values) -> None:
        found = handle(session, variables)
        endpoint = broker.endpoints.get(found)
        if endpoint is not None:
            session.check_permission("RECEIVE", endpoint.service.queue)
        verbs.move_conversation(broker, session, found, group(session, variables))
        session.rowcount = 0

    return run
