"""Service Broker views and DMVs, every column of the documented ones (pages of sys.* views)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from redial_broker.catalog.internal_tables import object_rows, shipped
from redial_broker.catalog.object_views import SHIPPED_COLUMNS, object_row
from redial_broker.catalog.views import VIEW_SERVER_STATE, view
from redial_broker.catalog.visibility import sees_everything, visible
from redial_broker.engine.clock import EPOCH
from redial_broker.exec.database import Database
from redial_broker.exec.switches import value
from redial_broker.ssb.conversation import GONE, STATES
from redial_broker.ssb.names import FIRST_USER_ID

UNSET = datetime(1900, 1, 1)
"""How unset times read in sys.conversation_endpoints."""

BY_INITIATOR, BY_TARGET = 1, 2


@lru_cache(maxsize=1024)
def moment(seconds: float | None) -> datetime | None:
    """Clock seconds as datetime, to the engine's three milliseconds; None stays None."""
    if seconds is None:
        return None
    return EPOCH + timedelta(milliseconds=round(seconds * 300) / 0.3)


# ---------------------------------------------------------------------- definitions
def seen(s: Any, db: Database, kind: str, number: str) -> list[Any]:
    """Definitions of a kind the reader may see, by id; those every database has are everybody's.

    kind: mapping of the broker; number: attribute with the id.
    """
    test = visible(s, db)
    found = [
        item
        for item in getattr(db.broker, kind).values()
        if getattr(item, number) < FIRST_USER_ID or test(item)
    ]
    return sorted(found, key=lambda item: getattr(item, number))


@view(
    "sys.service_message_types",
    """
name sysname
message_type_id int
principal_id int?
validation char(2)
validation_desc nvarchar(60)?
xml_collection_id int?""",
    broker_names=("name",),
)
def message_types(s: Any, db: Database) -> Iterable[tuple]:
    """Message types. N reads BINARY in dumps of real servers, whatever the page says."""
    words = {"N ": "BINARY", "E ": "EMPTY", "X ": "XML"}
    for item in seen(s, db, "message_types", "message_type_id"):
        yield (
            item.name,
            item.message_type_id,
            item.owner,
            item.validation,
            words[item.validation],
            item.collection.xml_collection_id if item.collection is not None else None,
        )


@view(
    "sys.service_contracts",
    """
name sysname
service_contract_id int
principal_id int?""",
    broker_names=("name",),
)
def contracts(s: Any, db: Database) -> Iterable[tuple]:
    """Contracts."""
    for item in seen(s, db, "contracts", "contract_id"):
        yield item.name, item.contract_id, item.owner


@view(
    "sys.service_contract_message_usages",
    """
service_contract_id int
message_type_id int
is_sent_by_initiator bit
is_sent_by_target bit""",
)
def contract_usages(s: Any, db: Database) -> Iterable[tuple]:
    """Which side of a contract may send what."""
    types = db.broker.message_types
    for item in seen(s, db, "contracts", "contract_id"):
        rows = [
            (types[name].message_type_id, bits)
            for name, bits in item.usages.items()
            if name in types
        ]
        for number, bits in sorted(rows):
            yield (
                item.contract_id,
                number,
                int(bool(bits & BY_INITIATOR)),
                int(bool(bits & BY_TARGET)),
            )


def seen_services(s: Any, db: Database) -> list[Any]:
    """Services the reader may see, by id."""
    test = visible(s, db)
    found = [item for item in db.broker.services.values() if test(item)]
    return sorted(found, key=lambda item: item.service_id)


@view(
    "sys.services",
    """
name sysname
service_id int
principal_id int?
service_queue_id int""",
    broker_names=("name",),
)
def services(s: Any, db: Database) -> Iterable[tuple]:
    """Services."""
    for item in seen_services(s, db):
        yield item.name, item.service_id, item.owner, item.queue.object_id


@view(
    "sys.service_contract_usages",
    """
service_id int
service_contract_id int""",
)
def service_contracts(s: Any, db: Database) -> Iterable[tuple]:
    """Contracts a service may be a target for."""
    for item in seen_services(s, db):
        for number in sorted(
            db.broker.contracts[name].contract_id
            for name in item.contracts
            if name in db.broker.contracts
        ):
            yield item.service_id, number


@view(
    "sys.service_queue_usages",
    """
service_id int
service_queue_id int""",
)
def service_queues_used(s: Any, db: Database) -> Iterable[tuple]:
    """The queue of each service."""
    for item in seen_services(s, db):
        yield item.service_id, item.queue.object_id


@view(
    "sys.service_queues",
    SHIPPED_COLUMNS
    + """max_readers smallint?
activation_procedure nvarchar(776)?
execute_as_principal_id int?
is_activation_enabled bit
is_receive_enabled bit
is_enqueue_enabled bit
is_retention_enabled bit
is_poison_message_handling_enabled bit?""",
)
def service_queues(s: Any, db: Database) -> Iterable[tuple]:
    """Queues."""
    test = visible(s, db)
    for queue in db.broker.queues():
        if not test(queue):
            continue
        activation = queue.activation
        readers = (
            (
                activation.max_readers,
                activation.procedure,
                activation.execute_as,
                int(activation.enabled),
            )
            if activation is not None
            else (0, None, None, 0)
        )
        enabled = int(queue.enabled)
        yield (
            *object_row(db, queue),
            shipped(queue),
            *readers,
            enabled,
            enabled,
            int(queue.retention),
            int(queue.poison_handling),
        )


@view(
    "sys.internal_tables",
    SHIPPED_COLUMNS
    + """internal_type tinyint = 201
internal_type_desc nvarchar(60)? = 'QUEUE_MESSAGES'
parent_id int
parent_minor_id int = 0
lob_data_space_id int = 1
filestream_data_space_id int? = None""",
)
def internal(s: Any, db: Database) -> Iterable[tuple]:
    """The tables queues keep their messages in."""
    for row in object_rows(s, db):
        yield (*row, row[4])


@view(
    "sys.routes",
    """
name sysname
route_id int
principal_id int?
remote_service_name nvarchar(256)?
broker_instance nvarchar(128)?
lifetime datetime?
address nvarchar(256)?
mirror_address nvarchar(256)?""",
    broker_names=("remote_service_name",),
)
def routes(s: Any, db: Database) -> Iterable[tuple]:
    """Routes; expired ones stay listed."""
    for item in sorted(db.broker.routes.values(), key=lambda r: r.route_id):
        yield (
            item.name,
            item.route_id,
            item.owner,
            item.service_name,
            item.broker_instance,
            moment(item.expires),
            item.address,
            item.mirror_address,
        )


@view(
    "sys.remote_service_bindings",
    """
name sysname
remote_service_binding_id int
principal_id int?
remote_service_name nvarchar(256)?
service_contract_id int = 0
remote_principal_id int?
is_anonymous_on bit""",
    broker_names=("remote_service_name",),
)
def remote_service_bindings(s: Any, db: Database) -> Iterable[tuple]:
    """Remote service bindings; 0 stands for all contracts."""
    for item in sorted(db.broker.bindings.values(), key=lambda b: b.binding_id):
        yield (
            item.name,
            item.binding_id,
            item.owner,
            item.service_name,
            item.user,
            int(item.anonymous),
        )


@view(
    "sys.conversation_priorities",
    """
priority_id int
name sysname
service_contract_id int?
local_service_id int?
remote_service_name nvarchar(256)?
priority tinyint""",
    broker_names=("remote_service_name",),
)
def priorities(s: Any, db: Database) -> Iterable[tuple]:
    """Conversation priorities."""
    broker = db.broker
    for item in sorted(broker.priorities.values(), key=lambda p: p.priority_id):
        contract = broker.contracts.get(item.contract) if item.contract else None
        service = broker.services.get(item.local_service) if item.local_service else None
        yield (
            item.priority_id,
            item.name,
            contract.contract_id if contract else None,
            service.service_id if service else None,
            item.remote_service,
            item.level,
        )


# ---------------------------------------------------------------------- conversations
def seen_endpoints(s: Any, db: Database) -> list[Any]:
    """Endpoints as the reader's transaction sees them, in the order of their handles: looked at in
    that order too, for the explorer expects the same reads after the same reads.
    """
    endpoints = db.broker.endpoints
    return [e for handle in sorted(endpoints) if _seen(s, e := endpoints[handle])]


def endpoint_by_handle(s: Any, db: Database, handle: str) -> Iterable[tuple]:
    """The row of one conversation: procedures look their own up at every message."""
    e = db.broker.endpoints.get(handle)
    if e is not None and _seen(s, e):
        yield endpoint_row(s, e)


def endpoints_of_conversation(s: Any, db: Database, conversation_id: str) -> Iterable[tuple]:
    """The rows of both sides of a conversation, as many as are in this database."""
    found = [db.broker.sides.get((conversation_id, initiator)) for initiator in (False, True)]
    for e in sorted((e for e in found if e is not None), key=lambda e: e.handle):
        if _seen(s, e):
            yield endpoint_row(s, e)


def _seen(s: Any, e: Any) -> bool:
    """Whether the reader's transaction sees an endpoint: not one that another has not committed."""
    return e.own != GONE and (e.creator is None or e.creator is s.transaction)


def wait_for_endpoints(s: Any, db: Database) -> None:
    """What a plain read of the endpoints waits for, if the switch says it does (F-126)."""
    if not value(s.engine, "endpoint_reads_wait"):
        return
    for handle, e in sorted(db.broker.endpoints.items()):
        owner = e.creator
        if owner is None and e.own and not e.dead:
            resource = s.engine.locks.resources.get(e.group.lock_key)
            owner = next(iter(resource.granted), None) if resource is not None else None
        wait_for_row(s, owner, ("endpoint", db.id, handle))


def wait_for_rows(s: Any, db: Database) -> None:
    """What a plain read of the transmission queue waits for, if the switch says so (F-136)."""
    if value(s.engine, "transmission_reads_wait"):
        for handle in sorted(db.broker.senders):
            wait_for_row(
                s, db.broker.senders[handle].pending_writer, ("transmission", db.id, handle)
            )


def wait_for_row(s: Any, owner: Any, row: tuple) -> None:
    """Wait until ``owner``, if it is another's transaction, has ended. Raises Wait, 1222, 1205."""
    transaction = s.work()
    if owner is not None and owner is not transaction:
        s.engine.locks.wait_for_writer(transaction, owner, ("KEY", row[:2], row[2:]))


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
def conversation_endpoints(s: Any, db: Database) -> Iterable[tuple]:
    """Both sides of every conversation of the database."""
    for e in seen_endpoints(s, db):
        yield endpoint_row(s, e)


def endpoint_row(s: Any, e: Any) -> tuple:
    """The computed columns of one endpoint."""
    state = e.state(s.transaction)
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
    return e.service.service_id < FIRST_USER_ID


@view(
    "sys.conversation_groups",
    """
conversation_group_id uniqueidentifier
service_id int
is_system bit""",
)
def conversation_groups(s: Any, db: Database) -> Iterable[tuple]:
    """Conversation groups with conversations in them."""
    groups = {e.group.group_id: e.group for e in seen_endpoints(s, db)}
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
def transmission_queue(s: Any, db: Database) -> Iterable[tuple]:
    """Messages that could not be delivered yet; empty for everyone but db_owner."""
    if not sees_everything(s, db) and value(s.engine, "transmission_queue_shows") == "db_owner":
        return
    mine = s.transaction
    backwards = value(s.engine, "bad_optimizer")  # no page promises an order without ORDER BY
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


# ---------------------------------------------------------------------- DMVs
def brokers(db: Database) -> Iterable[tuple[Database, Any]]:
    """Every database with its broker."""
    for item in sorted(db.server.databases.values(), key=lambda d: d.id):
        if item.broker is not None:
            yield item, item.broker


@view(
    "sys.dm_broker_queue_monitors",
    """
database_id int?
queue_id int?
state nvarchar(32)?
last_empty_rowset_time datetime?
last_activated_time datetime?
tasks_waiting int?""",
    VIEW_SERVER_STATE,
)
def queue_monitors(s: Any, db: Database) -> Iterable[tuple]:
    """One row per queue with a monitor; tasks_waiting counts whoever waits in RECEIVE."""
    for database, broker in brokers(db):
        for queue in broker.queues():
            monitor = queue.monitor
            if monitor.exists:
                yield (
                    database.id,
                    queue.object_id,
                    monitor.state,
                    moment(monitor.last_empty),
                    moment(monitor.last_activated),
                    len(queue.waiting()),
                )


@view(
    "sys.dm_broker_activated_tasks",
    """
spid int?
database_id smallint?
queue_id int?
procedure_name nvarchar(650)?
execute_as int?""",
    VIEW_SERVER_STATE,
)
def activated_tasks(s: Any, db: Database) -> Iterable[tuple]:
    """Activated tasks that are running."""
    for session in sorted(db.server.sessions(), key=lambda x: x.id):
        queue = getattr(session, "queue", None)
        if session.background and queue is not None and session.frames:
            activation = queue.activation
            yield (
                session.id,
                session.database.id,
                queue.object_id,
                activation.procedure if activation else None,
                session.user.id if session.user else None,
            )


@view(
    "sys.dm_broker_connections",
    """
connection_id uniqueidentifier?
transport_stream_id uniqueidentifier?
state smallint?
state_desc nvarchar(60)?
connect_time datetime?
login_time datetime?
authentication_method nvarchar(128)?
principal_name nvarchar(128)?
remote_user_name nvarchar(128)?
last_activity_time datetime?
is_accept bit?
login_state smallint?
login_state_desc nvarchar(60)?
peer_certificate_id int?
encryption_algorithm smallint?
encryption_algorithm_desc nvarchar(60)?
receives_posted smallint?
is_receive_flow_controlled bit?
sends_posted smallint?
is_send_flow_controlled bit?
total_bytes_sent bigint?
total_bytes_received bigint?
total_fragments_sent bigint?
total_fragments_received bigint?
total_sends bigint?
total_receives bigint?
peer_arbitration_id uniqueidentifier?""",
    VIEW_SERVER_STATE,
)
def broker_connections(s: Any, db: Database) -> Iterable[tuple]:
    """None: there is no transport between instances."""
    return ()


@view(
    "sys.dm_broker_forwarded_messages",
    """
conversation_id uniqueidentifier?
is_initiator bit?
to_service_name nvarchar(256)?
to_broker_instance nvarchar(256)?
from_service_name nvarchar(256)?
from_broker_instance nvarchar(256)?
adjacent_broker_address nvarchar(512)?
message_sequence_number bigint?
message_fragment_number int?
hops_remaining tinyint?
time_to_live int?
time_consumed int
message_id uniqueidentifier?""",
    VIEW_SERVER_STATE,
)
def forwarded_messages(s: Any, db: Database) -> Iterable[tuple]:
    """None: nothing is forwarded."""
    return ()
