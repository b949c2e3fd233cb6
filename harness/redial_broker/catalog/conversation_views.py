"""Conversations, their groups and what could not be delivered yet, as their documented views."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.broker_views import moment
from redial_broker.catalog.views import view
from redial_broker.catalog.visibility import sees_everything
from redial_broker.exec.database import Database
from redial_broker.exec.switches import value
from redial_broker.ssb.conversation import GONE, STATES
from redial_broker.ssb.names import FIRST_USER_ID

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

UNSET = datetime(1900, 1, 1)
"""How unset times read in sys.conversation_endpoints."""


def seen_endpoints(session: SessionState, db: Database) -> list[Any]:
    """Endpoints as the reader's transaction sees them, in the order of their handles: looked at in
    that order too, for the explorer expects the same reads after the same reads.
    """
    endpoints = db.broker.endpoints
    return [e for handle in sorted(endpoints) if _seen(session, e := endpoints[handle])]


def endpoint_by_handle(session: SessionState, db: Database, handle: str) -> Iterable[RowValues]:
    """The row of one conversation: procedures look their own up at every message."""
    e = db.broker.endpoints.get(handle)
    if e is not None and _seen(session, e):
        yield endpoint_row(session, e)


def endpoints_of_conversation(
    session: SessionState, db: Database, conversation_id: str
) -> Iterable[RowValues]:
    """The rows of both sides of a conversation, as many as are in this database."""
    found = [db.broker.sides.get((conversation_id, initiator)) for initiator in (False, True)]
    for e in sorted((e for e in found if e is not None), key=lambda e: e.handle):
        if _seen(session, e):
            yield endpoint_row(session, e)


def _seen(session: SessionState, e: Any) -> bool:
    """Whether the reader's transaction sees an endpoint: not one that another has not committed."""
    return e.own != GONE and (e.creator is None or e.creator is session.transaction)


def wait_for_endpoints(session: SessionState, db: Database) -> None:
    """What a plain read of the endpoints waits for, if the switch says it does (F-126)."""
    if not value(session.engine, "endpoint_reads_wait"):
        return
    for handle, e in sorted(db.broker.endpoints.items()):
        owner = e.creator
        if owner is None and e.own and not e.dead:
            resource = session.engine.locks.resources.get(e.group.lock_key)
            owner = next(iter(resource.granted), None) if resource is not None else None
        wait_for_row(session, owner, ("endpoint", db.id, handle))


def wait_for_rows(session: SessionState, db: Database) -> None:
    """What a plain read of the transmission queue waits for, if the switch says so (F-136)."""
    if value(session.engine, "transmission_reads_wait"):
        for handle in sorted(db.broker.senders):
            wait_for_row(
                session, db.broker.senders[handle].pending_writer, ("transmission", db.id, handle)
            )


def wait_for_row(session: SessionState, owner: Any, row: RowValues) -> None:
    """Wait until ``owner``, if it is another's transaction, has ended. Raises Wait, 1222, 1205."""
    transaction = session.work()
    if owner is not None and owner is not transaction:
        session.engine.locks.wait_for_writer(transaction, owner, ("KEY", row[:2], row[2:]))


@view(
    "sys.conversation_endpoints",
    """
conversation_handle uniqueidentifier
conversation_id uniqueidentifier
is_initiator tinyint
service_contract_id int
conversation_group_id uniqueidentifier
service_id int
lifetime datetime
state char(2)
state_desc nvarchar(60)?
far_service nvarchar(256)
far_broker_instance nvarchar(128)?
principal_id int
far_principal_id int = -1
outbound_session_key_identifier uniqueidentifier = '00000000-0000-0000-0000-000000000000'
inbound_session_key_identifier uniqueidentifier = '00000000-0000-0000-0000-000000000000'
security_timestamp datetime
dialog_timer datetime
send_sequence bigint
last_send_tran_id binary(6) = b'\\x00\\x00\\x00\\x00\\x00\\x00'
end_dialog_sequence bigint = -1
receive_sequence bigint
receive_sequence_frag int = 0
system_sequence bigint = 0
first_out_of_order_sequence bigint = -1
last_out_of_order_sequence bigint = -1
last_out_of_order_frag int = -1
is_system bit
priority tinyint""",
    by={"conversation_handle": endpoint_by_handle, "conversation_id": endpoints_of_conversation},
    settle=wait_for_endpoints,
    broker_names=("far_service",),
)
def conversation_endpoints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Both sides of every conversation of the database."""
    for e in seen_endpoints(session, db):
        yield endpoint_row(session, e)


def endpoint_row(session: SessionState, e: Any) -> RowValues:
    """The computed columns of one endpoint."""
    state = e.state(session.transaction)
    return (
        e.handle,
        e.conversation_id,
        int(e.is_initiator),
        e.contract.contract_id,
        e.group.group_id,
        e.service.service_id,
        moment(e.lifetime),
        state,
        STATES[state],
        e.far_service,
        e.far_broker,
        e.owner,
        moment(e.security_timestamp) or UNSET,
        moment(e.timer_due) or UNSET,
        e.send_sequence,
        e.inbox.tail,
        int(_is_system(e)),
        e.priority,
    )


def _is_system(e: Any) -> bool:
    """Whether it is the server's own, as of an event notification."""
    return bool(e.service.service_id < FIRST_USER_ID)


@view(
    "sys.conversation_groups",
    """
conversation_group_id uniqueidentifier
service_id int
is_system bit""",
)
def conversation_groups(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Conversation groups with conversations in them."""
    groups = {e.group.group_id: e.group for e in seen_endpoints(session, db)}
    for group_id in sorted(groups):
        number = groups[group_id].service.service_id
        yield group_id, number, int(number < FIRST_USER_ID)


@view(
    "sys.transmission_queue",
    """
conversation_handle uniqueidentifier
to_service_name nvarchar(256)?
to_broker_instance nvarchar(128)?
from_service_name nvarchar(256)?
service_contract_name nvarchar(256)?
enqueue_time datetime
message_sequence_number bigint
message_type_name nvarchar(256)?
is_conversation_error bit
is_end_of_dialog bit
message_body varbinary(max)?
transmission_status nvarchar(4000)?
priority tinyint""",
    settle=wait_for_rows,
    broker_names=(
        "to_service_name",
        "from_service_name",
        "service_contract_name",
        "message_type_name",
    ),
)
def transmission_queue(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Messages that could not be delivered yet; empty for everyone but db_owner."""
    if (
        not sees_everything(session, db)
        and value(session.engine, "transmission_queue_shows") == "db_owner"
    ):
        return
    mine = session.transaction
    backwards = value(session.engine, "bad_optimizer")  # no page promises an order without ORDER BY
    for handle in sorted(db.broker.senders, reverse=backwards):
        e = db.broker.senders[handle]
        for sequence, (kind, message_type, body, when) in sorted(
            e.pending.items(), reverse=backwards
        ):
            unsettled = e.pending_writer is not None and sequence >= e.pending_settled
            if unsettled and e.pending_writer is not mine:
                continue
            yield (
                e.handle,
                e.far_service,
                e.far_broker or "",
                e.service.name,
                e.contract.name,
                moment(when),
                sequence,
                message_type.name,
                int(kind == "error"),
                int(kind == "end"),
                body,
                e.status,
                e.priority,
            )
