"""The Service Broker of one database: definitions, conversations, and what follows a commit.

Everything a transaction does is undone with it; what follows for others (messages become visible,
the peer's state changes, readers wake) happens when it has committed, in ``transaction_ended``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial_broker.engine.ids import stream_guid
from redial_broker.engine.journal import MISSING, Part
from redial_broker.engine.owners import DBO
from redial_broker.engine.state import SAME, also, derived, journaled, made, plain, state
from redial_broker.ssb import alarms, ends, names, notifications, options, timers
from redial_broker.ssb.conversation import Endpoint, Group
from redial_broker.ssb.counters import Counters
from redial_broker.ssb.definitions import (
    Contract,
    MessageType,
    Priority,
    RemoteServiceBinding,
    Route,
    Service,
)
from redial_broker.ssb.notifications import EventNotification, SystemQueue

if TYPE_CHECKING:
    from redial_broker.engine.kernel import Engine
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.needs import BrokerEvent, BrokerHome, Caller, TimerKey
    from redial_broker.ssb.queue import Queue


def _nobody(queue: Queue) -> None:
    """Without an instance nobody starts procedures."""


def _silent(who: str, text: str) -> None:
    """Without an instance there is no ERRORLOG."""


def _own(number: int, owner: int) -> bool:
    """Whether it is not as every database is born with it, which nobody else can be."""
    return number >= names.FIRST_USER_ID or owner != DBO


def _shown_types(types: dict[str, MessageType]) -> Any:
    return plain([m for _, m in sorted(types.items()) if _own(m.message_type_id, m.owner)])


def _shown_contracts(contracts: dict[str, Contract]) -> Any:
    return plain([c for _, c in sorted(contracts.items()) if _own(c.contract_id, c.owner)])


def _shown_keys(mapping: dict[Any, Any]) -> list[str]:
    return sorted(map(repr, mapping))


def _shown_raised(
    raised: dict[int, tuple[Transaction, EventNotification, str, bytes]],
) -> list[Any]:
    """Events of open transactions, in the order they were raised."""
    return [(t.owner.id, n.name, event, body) for _, (t, n, event, body) in sorted(raised.items())]


def _moments(broker: Broker) -> list[float]:
    return [found.created for _, found in sorted(broker.notifications.items())]


class Broker(Part):
    """Service Broker of one database.

    senders: endpoints that may have rows in the transmission queue (may list too many). sides:
    (conversation id, whether it is the initiator's) -> endpoint, for all in ``endpoints``. missed:
    timers that came due while the broker was disabled. raised: events of open transactions, to be
    posted at their commit.
    activate(queue): starts an activated task; log(who, text): ERRORLOG; may_send(endpoint,
    service): whether the owner of an endpoint's service has SEND on the target. no_entry(endpoint,
    service): why the owner of an endpoint's service cannot enter the database of the service it
    sends to, None when it can. has_certificate(principal id): for dialog security with a remote
    service.
    """

    __slots__ = (
        "_queues",
        "activate",
        "bindings",
        "contracts",
        "counters",
        "database",
        "enabled",
        "endpoints",
        "engine",
        "groups",
        "guid",
        "has_certificate",
        "has_master_key",
        "log",
        "may_send",
        "message_types",
        "missed",
        "next_id",
        "no_entry",
        "notifications",
        "poisoned",
        "priorities",
        "raised",
        "routes",
        "senders",
        "services",
        "sides",
    )
    STATE = state(
        journaled("guid", "enabled", "has_master_key", "next_id"),
        journaled("message_types", show=_shown_types),
        journaled("contracts", show=_shown_contracts),
        journaled("routes", "bindings", "priorities", "notifications", show=plain),
        journaled("services", "endpoints", "groups", show=sorted),
        journaled("missed", show=_shown_keys),
        journaled("raised", show=_shown_raised),
        journaled("sides", hidden="follows from the endpoints"),
        journaled("senders", hidden="may name too many: endpoints show what is pending"),
        also("when notifications were created", _moments, "times"),
        derived("_queues", why="the queues among the objects of the database"),
        made("counters", hidden="a part of its own"),
        made(
            "activate",
            "database",
            "engine",
            "has_certificate",
            "log",
            "may_send",
            "no_entry",
            "poisoned",
            hidden=SAME,
        ),
        journal="engine.journal",
    )

    def __init__(self, engine: Engine, database: BrokerHome) -> None:
        super().__init__()
        self.engine = engine
        self.database = database
        self._queues: tuple[int | None, list[Queue]] = (None, [])
        self.guid = stream_guid(engine.seed, f"broker/{database.id}/{database.name}", 0)
        self.enabled = True
        self.has_master_key = False
        self.message_types = {
            name: MessageType(number, name, validation)
            for number, name, validation in names.MESSAGE_TYPES
        }
        self.contracts = {
            name: Contract(number, name, usages) for number, name, usages in names.CONTRACTS
        }
        self.services: dict[str, Service] = {}
        self.routes = {"AutoCreatedLocal": Route(names.FIRST_USER_ID, "AutoCreatedLocal")}
        self.bindings: dict[str, RemoteServiceBinding] = {}
        self.priorities: dict[str, Priority] = {}
        self.notifications: dict[tuple[int, str], EventNotification] = {}
        self.raised: dict[int, tuple[Transaction, EventNotification, str, bytes]] = {}
        self.counters = Counters(engine.journal)
        self.endpoints: dict[str, Endpoint] = {}
        self.sides: dict[tuple[str, bool], Endpoint] = {}
        self.groups: dict[str, Group] = {}
        self.senders: dict[str, Endpoint] = {}
        self.missed: dict[tuple[str, TimerKey], bool] = {}
        self.next_id = names.FIRST_USER_ID + 1
        self.activate: Callable[[Queue], None] = _nobody
        self.poisoned: Callable[[Queue], None] = ends.switch_off_at_once
        self.log: Callable[[str, str], None] = _silent
        self.may_send: Callable[[Endpoint, Service], bool] = lambda endpoint, service: True
        self.no_entry: Callable[[Endpoint, Service], str | None] = lambda endpoint, service: None
        self.has_certificate: Callable[[int], bool] = lambda principal: False
        for number, name, queue_id, queue, contracts in names.SYSTEM_SERVICES:
            made = SystemQueue(self, "dbo", queue, queue_id)
            database.objects["dbo", queue.lower()] = made
            self.services[name] = Service(self, number, name, made, frozenset(contracts))
        if ends.transaction_ended not in engine.transactions.watchers:
            engine.transactions.watchers.append(ends.transaction_ended)

    # ------------------------------------------------------------------ small things
    def note(self, transaction: Transaction, event: BrokerEvent) -> None:
        """Leave an event for ``ends.transaction_ended``."""
        if self.engine.journal.recording:
            self.engine.journal.save(transaction)
        transaction.events.append(event)

    @property
    def awake(self) -> bool:
        """Whether it delivers, activates and rings: enabled, in a database that can be written."""
        database = self.database
        closed = getattr(database, "state", "") == "OFFLINE"
        return self.enabled and not closed and not getattr(database, "read_only", False)

    def take_id(self) -> int:
        """An id for a new message type, contract, service, route or priority."""
        number = self.next_id
        self.engine.journal.assign(None, self, "next_id", number + 1)
        return number

    def queues(self) -> list[Queue]:
        """The database's queues, by object id."""
        version = getattr(self.database, "schema_version", None)
        if version is None or self._queues[0] != version:
            found = [o for o in self.database.objects.values() if getattr(o, "kind", "") == "QUEUE"]
            self._queues = (version, sorted(found, key=lambda queue: queue.object_id))
        return self._queues[1]

    def brokers(self) -> list[Broker]:
        """Every broker of the instance: this one first, then by database id."""
        server = getattr(self.database, "server", None)
        if server is None:
            return [self]
        others = sorted(
            (d for d in server.databases.values() if d.broker not in {None, self}),
            key=lambda d: d.id,
        )
        return [self, *(d.broker for d in others)]

    def priority(self, contract: str, local_service: str, remote_service: str) -> int:
        """Priority of a new endpoint: the best match, 5 without one."""
        found = [
            p
            for p in self.priorities.values()
            if p.matches(contract, local_service, remote_service)
        ]
        return max(found, key=lambda p: p.rank).level if found else 5

    # ------------------------------------------------------------------ endpoints
    def add_endpoint(self, transaction: Transaction | None, endpoint: Endpoint) -> None:
        """Enter a new endpoint and its group's membership."""
        put, group = self.engine.journal.put, endpoint.group
        endpoint.creator = transaction
        put(transaction, self, self.endpoints, endpoint.handle, endpoint)
        put(transaction, self, self.sides, _side(endpoint), endpoint)
        if group.group_id not in self.groups:
            put(transaction, self, self.groups, group.group_id, group)
        put(transaction, group, group.members, endpoint.handle, endpoint)
        if transaction is not None:
            self.note(transaction, ("ssb.created", endpoint))
        else:  # delivered outside any transaction: nobody's commit will arm it
            alarms.arm(endpoint)

    def remove_endpoint(self, endpoint: Endpoint) -> None:
        """An endpoint's row is gone; its group has lost it before."""
        put = self.engine.journal.put
        put(None, self, self.endpoints, endpoint.handle, MISSING)
        put(None, self, self.sides, _side(endpoint), MISSING)

    def remove_member(self, endpoint: Endpoint) -> None:
        """A conversation leaves its group; the last one takes the group with it."""
        put, group = self.engine.journal.put, endpoint.group
        put(None, group, group.members, endpoint.handle, MISSING)
        if not group.members:
            put(None, self, self.groups, group.group_id, MISSING)

    def activation_needed(self, queue: Queue) -> None:
        """Tell external readers of a queue that there is work for one more."""
        notifications.activation_needed(queue)

    # ------------------------------------------------------------------ what the instance calls
    def timer_due(self, kind: str, key: TimerKey) -> None:
        """One of our timers has come due. key: (database id, what)."""
        timers.due(self, kind, key)

    def task_ended(self, queue: Queue, session: Caller, killed: bool = False) -> None:
        """An activated task of ``queue`` has ended; its session must not have been reused yet.

        killed: from outside, not by its procedure.
        """
        queue.monitor.task_ended(session, killed)

    # ------------------------------------------------------------------ ALTER DATABASE SET
    def enable(self, transaction: Transaction | None = None) -> None:
        """ENABLE_BROKER. Takes effect at once, whatever the transaction. Raises SqlError 9772."""
        options.enable(self)

    def disable(self, transaction: Transaction | None = None) -> None:
        """DISABLE_BROKER."""
        options.disable(self)

    def new_identity(self, transaction: Transaction | None = None) -> None:
        """NEW_BROKER."""
        options.new_broker(self)

    def error_conversations(self, transaction: Transaction | None = None) -> None:
        """ERROR_BROKER_CONVERSATIONS."""
        options.error_conversations(self)

    def parts(self) -> list[Part]:
        """What the explorer hashes besides the queues, which are objects of the database."""
        found: list[Part] = [self, *(self.services[name] for name in sorted(self.services))]
        for handle in sorted(self.endpoints):
            endpoint = self.endpoints[handle]
            found += [endpoint, endpoint.inbox]
        found += [self.groups[group_id] for group_id in sorted(self.groups)]
        found += [queue.monitor for queue in self.queues()]
        return found

    def copy(self, database: BrokerHome) -> Broker:
        """The same definitions for a database made from a template; no conversations.

        The copied queues take the place of the template's in ``database.objects``.
        """
        twin = Broker(self.engine, database)
        for name in (
            "activate",
            "enabled",
            "log",
            "may_send",
            "no_entry",
            "has_certificate",
            "has_master_key",
            "next_id",
        ):
            setattr(twin, name, getattr(self, name))
        for name in ("message_types", "contracts", "routes", "priorities", "bindings"):
            setattr(twin, name, dict(getattr(self, name)))
        queues = {}
        for key, item in database.objects.items():
            if getattr(item, "kind", "") == "QUEUE":
                queues[item.object_id] = database.objects[key] = _copy_queue(twin, item)
        twin._queues = (None, [])
        for service in self.services.values():
            twin.services[service.name] = Service(
                twin,
                service.service_id,
                service.name,
                queues[service.queue.object_id],
                service.contracts,
                service.owner,
            )
        return twin


def _side(endpoint: Endpoint) -> tuple[str, bool]:
    return endpoint.conversation_id, endpoint.is_initiator


def _copy_queue(broker: Broker, queue: Queue) -> Queue:
    twin = type(queue)(broker, queue.schema, queue.name, queue.object_id)
    for name in ("internal_id", "enabled", "retention", "poison_handling", "activation"):
        setattr(twin, name, getattr(queue, name))
    return twin
