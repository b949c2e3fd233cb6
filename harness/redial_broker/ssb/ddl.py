"""CREATE, ALTER and DROP of message types, contracts, services and priorities.

Definitions are in the caller's transaction. Duplicates are 2714, missing ones 15151, something in
use 3716 (seen on real servers); the system's own objects 9663.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.owners import DBO
from redial_broker.ssb import alarms, names
from redial_broker.ssb.conversation import GONE, OPEN
from redial_broker.ssb.definitions import Contract, MessageType, Priority, Service
from redial_broker.ssb.faults import fault
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    from redial_broker.ssb.needs import BodyCheck

    _D = TypeVar("_D")
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.conversation import Endpoint
    from redial_broker.ssb.queue import Queue


def find(mapping: dict[str, _D], name: str, verb: str, what: str) -> _D:
    """The definition of that name. Raises SqlError 15151."""
    found = mapping.get(name)
    if found is None:
        raise SqlError(15151, verb, what, name)
    return found


def refuse_taken(mapping: Mapping[str, object], name: str) -> None:
    """Raises SqlError 2714 when the name is taken."""
    if name in mapping:
        raise SqlError(2714, name, state=6)


def refuse_system(number: int) -> None:
    """Raises SqlError 9663 for what every database is born with."""
    if number < names.FIRST_USER_ID:
        raise SqlError(9663)


def changed(broker: Broker, transaction: Transaction) -> None:
    """Have everybody look again when the definitions have committed."""
    broker.note(transaction, ("ssb.altered", broker))


# ---------------------------------------------------------------------- message types
def create_message_type(
    broker: Broker,
    transaction: Transaction,
    name: str,
    validation: str = names.NONE,
    owner: int = DBO,
    collection: BodyCheck | None = None,
) -> MessageType:
    """CREATE MESSAGE TYPE. collection: the schema collection of VALID_XML."""
    refuse_taken(broker.message_types, name)
    created = MessageType(broker.take_id(), name, validation, owner, collection)
    broker.engine.journal.put(transaction, broker, broker.message_types, name, created)
    changed(broker, transaction)
    return created


def alter_message_type(
    broker: Broker,
    transaction: Transaction,
    name: str,
    validation: str,
    collection: BodyCheck | None = None,
) -> None:
    """ALTER MESSAGE TYPE: messages already in a queue are not touched."""
    old = find(broker.message_types, name, "alter", "message type")
    refuse_system(old.message_type_id)
    broker.engine.journal.put(
        transaction,
        broker,
        broker.message_types,
        name,
        MessageType(old.message_type_id, name, validation, old.owner, collection),
    )


def drop_message_type(broker: Broker, transaction: Transaction, name: str) -> None:
    """DROP MESSAGE TYPE. Raises SqlError 3716 while a contract names it."""
    old = find(broker.message_types, name, "drop", "message type")
    refuse_system(old.message_type_id)
    if any(name in contract.usages for contract in broker.contracts.values()):
        raise SqlError(3716, "message type", name, "contract")
    broker.engine.journal.put(transaction, broker, broker.message_types, name, MISSING)


# ---------------------------------------------------------------------- contracts
def create_contract(
    broker: Broker,
    transaction: Transaction,
    name: str,
    usages: list[tuple[str, int]],
    owner: int = DBO,
) -> Contract:
    """CREATE CONTRACT. usages: (message type, bits of ``names.BY_ANY``) as listed.

    Raises SqlError 2714, 8403, 8492 and 15151.
    """
    refuse_taken(broker.contracts, name)
    agreed: dict[str, int] = {}
    for message_type, sent_by in usages:
        if message_type in agreed:
            raise SqlError(8403, message_type)
        find(broker.message_types, message_type, "find", "message type")
        agreed[message_type] = sent_by
    if not any(sent_by & names.BY_INITIATOR for sent_by in agreed.values()):
        raise SqlError(8492, name)
    created = Contract(broker.take_id(), name, agreed, owner)
    broker.engine.journal.put(transaction, broker, broker.contracts, name, created)
    changed(broker, transaction)
    return created


def drop_contract(broker: Broker, transaction: Transaction, name: str) -> None:
    """DROP CONTRACT: conversations that use it get Error -8487.

    Raises SqlError 3716 while a service or a conversation priority names it.
    """
    old = find(broker.contracts, name, "drop", "service contract")
    refuse_system(old.contract_id)
    if any(name in service.contracts for service in broker.services.values()):
        raise SqlError(3716, "contract", name, "service")
    if any(priority.contract == name for priority in broker.priorities.values()):
        raise SqlError(3716, "contract", name, "conversation priority")
    broker.engine.journal.put(transaction, broker, broker.contracts, name, MISSING)
    for _, endpoint in sorted(broker.endpoints.items()):
        if endpoint.contract is old and endpoint.own == OPEN and endpoint.usable(transaction):
            fault(transaction, endpoint, 8487)
            far = endpoint.peer
            if (
                far is not None
                and far.broker is not broker
                and far.own == OPEN
                and far.usable(transaction)
            ):
                fault(transaction, far, 8487)


# ---------------------------------------------------------------------- services
def create_service(
    broker: Broker,
    transaction: Transaction,
    name: str,
    queue: Queue,
    contracts: list[str],
    owner: int = DBO,
) -> Service:
    """CREATE SERVICE. contracts: those it may be a target for. SqlError 2714, 8404, 15151."""
    refuse_taken(broker.services, name)
    _known_contracts(broker, contracts)
    created = Service(broker, broker.take_id(), name, queue, frozenset(contracts), owner)
    broker.engine.journal.put(transaction, broker, broker.services, name, created)
    changed(broker, transaction)
    return created


def _known_contracts(broker: Broker, contracts: list[str]) -> None:
    seen: set[str] = set()
    for contract in contracts:
        if contract in seen:
            raise SqlError(8404, contract)
        seen.add(contract)
        find(broker.contracts, contract, "find", "service contract")


def alter_service(
    broker: Broker,
    transaction: Transaction,
    name: str,
    queue: Queue | None,
    add: list[str],
    drop: list[str],
) -> None:
    """ALTER SERVICE: another queue (its messages move along), more or fewer contracts.

    Whether conversations on a contract that is dropped go on is a switch. Raises SqlError 15151,
    8404 and 8493.
    """
    service: Service = find(broker.services, name, "alter", "service")
    refuse_system(service.service_id)
    if queue is None and not add and not drop:
        raise SqlError(8493, name)
    _known_contracts(broker, add)
    for contract in add:
        if contract in service.contracts:
            raise SqlError(8404, contract)
    for contract in drop:
        if contract not in service.contracts:
            raise SqlError(15151, "drop", "service contract", contract)
    journal = broker.engine.journal
    if add or drop:
        journal.assign(
            transaction, service, "contracts", (service.contracts | set(add)) - set(drop)
        )
    if drop and value(broker.engine, "service_contract_dropped") == "error":
        _tell_of_dropped(broker, transaction, service, drop)
    if queue is not None and queue is not service.queue:
        old = service.queue
        journal.assign(transaction, service, "queue", queue)
        for endpoint in _of_service(broker, service):
            old.unlist(endpoint.inbox)
            queue.relist(endpoint.inbox)
        broker.note(transaction, ("ssb.moved", service, (old, queue)))
    changed(broker, transaction)


def _tell_of_dropped(
    broker: Broker, transaction: Transaction, service: Service, contracts: list[str]
) -> None:
    """Conversations this service is the target of, on a contract it has no more: 8468 and 8469."""
    for endpoint in _of_service(broker, service):
        if endpoint.is_initiator or endpoint.contract.name not in contracts:
            continue
        for side, number in ((endpoint, 8468), (endpoint.peer, 8469)):
            if side is not None and side.own == OPEN and side.usable(transaction):
                fault(transaction, side, number)


def _of_service(broker: Broker, service: Service) -> list[Endpoint]:
    return [e for _, e in sorted(broker.endpoints.items()) if e.service is service]


def drop_service(broker: Broker, transaction: Transaction, name: str) -> None:
    """DROP SERVICE: its conversations and messages go, their far ends get Error -8470.

    Raises SqlError 15151, and 3716 while a conversation priority names it; Wait while another
    transaction holds one of the conversations.
    """
    service: Service = find(broker.services, name, "drop", "service")
    refuse_system(service.service_id)
    if any(priority.local_service == name for priority in broker.priorities.values()):
        raise SqlError(3716, "service", name, "conversation priority")
    mine = _of_service(broker, service)
    for endpoint in mine:
        if endpoint.group.lock_key not in transaction.locks:
            broker.engine.locks.acquire(transaction, endpoint.group.lock_key, "X")
    journal = broker.engine.journal
    journal.put(transaction, broker, broker.services, name, MISSING)
    for endpoint in mine:
        peer = endpoint.peer
        if (
            peer is not None
            and not peer.dead
            and not endpoint.own
            and peer.service is not service
            and peer.usable(transaction)
        ):
            fault(transaction, peer, 8470)
        alarms.will_change(transaction, endpoint)
        journal.assign(transaction, endpoint, "own", GONE)
        if endpoint.inbox.cut is not None:  # unlike END it leaves nothing behind
            journal.assign(transaction, endpoint.inbox, "cut", None)
        broker.note(transaction, ("ssb.end", endpoint))
    # A RECEIVE that waits for one of these conversations fails now (RECEIVE page).
    broker.note(transaction, ("ssb.look", service.queue))
    changed(broker, transaction)


# ---------------------------------------------------------------------- queues
def queue_changed(queue: Queue, transaction: Transaction) -> None:
    """Have everybody look again when the change of the queue commits."""
    queue.broker.note(transaction, ("ssb.queue", queue))


def refuse_bound(broker: Broker, queue: Queue) -> None:
    """DROP QUEUE: raises SqlError 3716 while a service uses it."""
    if any(service.queue is queue for service in broker.services.values()):
        raise SqlError(3716, "queue", queue.name, "service")


# ---------------------------------------------------------------------- priorities
def create_priority(
    broker: Broker,
    transaction: Transaction,
    name: str,
    contract: str | None,
    local_service: str | None,
    remote_service: str | None,
    level: int = 5,
) -> Priority:
    """CREATE BROKER PRIORITY; None is ANY. Conversations that exist keep theirs."""
    refuse_taken(broker.priorities, name)
    return _put_priority(
        broker,
        transaction,
        Priority(broker.take_id(), name, contract, local_service, remote_service, level),
    )


def alter_priority(broker: Broker, transaction: Transaction, name: str, **changes: Any) -> Priority:
    """ALTER BROKER PRIORITY: what is not among ``changes`` (fields of Priority) stays."""
    old: Priority = find(broker.priorities, name, "alter", "broker priority")
    fields = {
        "contract": old.contract,
        "local_service": old.local_service,
        "remote_service": old.remote_service,
        "level": old.level,
        **changes,
    }
    return _put_priority(broker, transaction, Priority(old.priority_id, name, **fields))


def _put_priority(broker: Broker, transaction: Transaction, priority: Priority) -> Priority:
    if priority.contract is not None:
        find(broker.contracts, priority.contract, "find", "service contract")
    if priority.local_service is not None:
        find(broker.services, priority.local_service, "find", "service")
    broker.engine.journal.put(transaction, broker, broker.priorities, priority.name, priority)
    return priority


def drop_priority(broker: Broker, transaction: Transaction, name: str) -> None:
    """DROP BROKER PRIORITY."""
    find(broker.priorities, name, "drop", "broker priority")
    broker.engine.journal.put(transaction, broker, broker.priorities, name, MISSING)
