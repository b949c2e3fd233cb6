"""Catalog views of what a database's broker is made of: message types to conversation priorities,
every column of the documented ones (pages of sys.* views).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.internal_tables import object_rows, shipped
from redial_broker.catalog.object_views import SHIPPED_COLUMNS, object_row
from redial_broker.catalog.views import view
from redial_broker.catalog.visibility import visible
from redial_broker.engine.clock import EPOCH
from redial_broker.exec.database import Database
from redial_broker.ssb.names import BY_INITIATOR, BY_TARGET, FIRST_USER_ID

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState


@lru_cache(maxsize=1024)
def moment(seconds: float | None) -> datetime | None:
    """Clock seconds as datetime, to the engine's three milliseconds; None stays None."""
    if seconds is None:
        return None
    return EPOCH + timedelta(milliseconds=round(seconds * 300) / 0.3)


def seen(session: SessionState, db: Database, kind: str, number: str) -> list[Any]:
    """Definitions of a kind the reader may see, by id; those every database has are everybody's.

    kind: mapping of the broker; number: attribute with the id.
    """
    test = visible(session, db)
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
def message_types(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Message types. N reads BINARY in dumps of real servers, whatever the page says."""
    words = {"N ": "BINARY", "E ": "EMPTY", "X ": "XML"}
    for item in seen(session, db, "message_types", "message_type_id"):
        yield (
            item.name,
            item.message_type_id,
            item.owner,
            item.validation,
            words[item.validation],
            item.collection.xml_collection_id if item.collection is not None else None,
        )


@view(
    "sys.message_type_xml_schema_collection_usages",
    """
message_type_id int
xml_collection_id int""",
)
def message_type_collections(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The XML schema collection of each message type that is validated by one."""
    for item in seen(session, db, "message_types", "message_type_id"):
        if item.collection is not None:
            yield item.message_type_id, item.collection.xml_collection_id


@view(
    "sys.service_contracts",
    """
name sysname
service_contract_id int
principal_id int?""",
    broker_names=("name",),
)
def contracts(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Contracts."""
    for item in seen(session, db, "contracts", "contract_id"):
        yield item.name, item.contract_id, item.owner


@view(
    "sys.service_contract_message_usages",
    """
service_contract_id int
message_type_id int
is_sent_by_initiator bit
is_sent_by_target bit""",
)
def contract_usages(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Which side of a contract may send what."""
    types = db.broker.message_types
    for item in seen(session, db, "contracts", "contract_id"):
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


def seen_services(session: SessionState, db: Database) -> list[Any]:
    """Services the reader may see, by id."""
    test = visible(session, db)
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
def services(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Services."""
    for item in seen_services(session, db):
        yield item.name, item.service_id, item.owner, item.queue.object_id


@view(
    "sys.service_contract_usages",
    """
service_id int
service_contract_id int""",
)
def service_contracts(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Contracts a service may be a target for."""
    for item in seen_services(session, db):
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
def service_queues_used(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The queue of each service."""
    for item in seen_services(session, db):
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
def service_queues(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Queues."""
    test = visible(session, db)
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
def internal(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The tables queues keep their messages in."""
    for row in object_rows(session, db):
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
def routes(session: SessionState, db: Database) -> Iterable[RowValues]:
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
def remote_service_bindings(session: SessionState, db: Database) -> Iterable[RowValues]:
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
def priorities(session: SessionState, db: Database) -> Iterable[RowValues]:
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
