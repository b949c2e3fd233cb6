"""Conversation endpoints and groups, and how an endpoint's state follows from what has happened.

An endpoint never stores its state. It stores what its own side did (``own``, written under its
group's lock) and what its peer said (``said``, written when the peer's transaction has committed),
so that the undo of one transaction can never overwrite what another one committed meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.broker_messages import text
from redial_broker.engine.journal import MISSING, Part
from redial_broker.engine.state import SAME, also, derived, journaled, made, state
from redial_broker.ssb.inbox import owner_of
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.definitions import Contract, Service
    from redial_broker.ssb.inbox import Inbox
    from redial_broker.ssb.needs import Waiting

OPEN, ENDED, CLOSED, GONE = "", "ended", "closed", "gone"
"""What an endpoint's own side did: nothing; END that is not yet delivered; END (target: the row
stays); END (the row goes)."""

PEER_ENDED, PEER_ERROR, BROKER_ERROR = "ended", "error", "broker error"
"""What an endpoint was told: EndDialog, END .. WITH ERROR, or an error of the engine itself."""

BUSY = text(9749)
"""transmission_status of a message that cannot enter its queue just now: an END is undecided
(F-456)."""

STATES = {
    "SO": "STARTED_OUTBOUND",
    "SI": "STARTED_INBOUND",
    "CO": "CONVERSING",
    "DI": "DISCONNECTED_INBOUND",
    "DO": "DISCONNECTED_OUTBOUND",
    "ER": "ERROR",
    "CD": "CLOSED",
}
"""state -> state_desc (sys.conversation_endpoints page)."""


def _name(item: Service | Contract) -> str:
    return item.name


def _group_id(group: Group) -> str:
    return group.group_id


def _handle(endpoint: Endpoint | None) -> str:
    return endpoint.handle if endpoint is not None else ""


def _arrivals(arrivals: dict[Transaction, str]) -> Any:
    return sorted([(t.owner.id, kind) for t, kind in arrivals.items()]) if arrivals else None


def _pending(pending: dict[int, Waiting]) -> Any:
    return [(number, row[0], row[1].name, row[2]) for number, row in sorted(pending.items())]


def _pending_entry(
    endpoint: Endpoint, number: int, row: Waiting, counted: frozenset[str]
) -> tuple[Any, ...]:
    if row is MISSING:
        return (number,)
    return number, row[0], row[1].name, row[2], row[3] if "times" in counted else None


def _pending_settled(endpoint: Endpoint) -> int:
    """From where on rows are the writer's; without one it says nothing."""
    return endpoint.pending_settled if endpoint.pending_writer is not None else 0


def _held_back(endpoint: Endpoint) -> bool:
    """Whether it waits for an END to be decided: then it is tried again (F-456)."""
    return endpoint.status == BUSY


def _status(endpoint: Endpoint) -> str:
    return endpoint.status


def _moments(endpoint: Endpoint) -> list[float]:
    return [row[3] for _, row in sorted(endpoint.pending.items())]


class Group(Part):
    """A conversation group: what RECEIVE and SEND lock. members: handle -> endpoint."""

    __slots__ = ("group_id", "lock_key", "members", "service")
    STATE = state(
        made("group_id"),
        made("service", show=_name),
        journaled("members", show=sorted),
        derived("lock_key", why="follows from the id"),
    )

    def __init__(self, broker: Broker, group_id: str, service: Service) -> None:
        super().__init__()
        self.group_id = group_id
        self.service = service
        self.members: dict[str, Endpoint] = {}
        self.lock_key = ("CONVERSATION_GROUP", broker.database.id, group_id)


class Endpoint(Part):
    """One side of a conversation.

    lifetime: clock seconds when the dialog expires; expires: True when LIFETIME was stated, so that
    a timer is armed. pending: rows in the transmission queue by sequence number; those from
    ``pending_settled`` on belong to the open transaction ``pending_writer``. timer_due: of the
    conversation timer. alarm_writer: open transaction that changed what timers may do here.
    arrivals: transaction -> what it will have told this side once it commits. dead: the END has
    committed (1: the row stays CLOSED, 2: it is removed).
    """

    __slots__ = (
        "alarm_writer",
        "arrivals",
        "begun",
        "broker",
        "contract",
        "conversation_id",
        "creator",
        "dead",
        "encrypted",
        "expires",
        "far_broker",
        "far_service",
        "group",
        "handle",
        "inbox",
        "is_initiator",
        "lifetime",
        "own",
        "owner",
        "peer",
        "pending",
        "pending_settled",
        "pending_writer",
        "priority",
        "said",
        "security_timestamp",
        "send_sequence",
        "sent_by",
        "service",
        "status",
        "timer_due",
    )
    STATE = state(
        made("handle", "conversation_id", "is_initiator", "far_service", "encrypted"),
        made("contract", "service", show=_name),
        journaled("group", show=_group_id),
        journaled("far_broker", "owner", "priority", "expires"),
        journaled("own", "said", "send_sequence", "dead", "timer_due"),
        journaled("status", of=_held_back),
        also("why its messages were not delivered", _status, "status"),
        journaled("arrivals", show=_arrivals),
        journaled("peer", show=_handle),
        journaled("pending", show=_pending, entry=_pending_entry),
        journaled("pending_settled", of=_pending_settled),
        journaled("pending_writer", "alarm_writer", "creator", show=owner_of),
        journaled("lifetime", when="lifetime"),
        journaled("security_timestamp", when="times"),
        made("begun", when="times"),
        also("since when rows are pending", _moments, "times"),
        made("sent_by", hidden="follows from is_initiator"),
        made("inbox", hidden="a part of its own"),
        made("broker", hidden=SAME),
        journal="broker.engine.journal",
    )

    def __init__(
        self,
        service: Service,
        handle: str,
        conversation_id: str,
        group: Group,
        contract: Contract,
        far_service: str,
        is_initiator: bool,
    ) -> None:
        super().__init__()
        self.service = service
        self.broker: Broker = service.broker
        self.handle = handle
        self.conversation_id = conversation_id
        self.is_initiator = is_initiator
        self.sent_by = 1 if is_initiator else 2
        self.group = group
        self.contract = contract
        self.far_service = far_service
        self.far_broker: str | None = None
        self.owner = service.owner
        self.encrypted = True
        self.priority = 5
        self.begun = self.broker.engine.clock.now()
        self.lifetime = 0.0
        self.expires = False
        self.own = OPEN
        self.said = ""
        self.arrivals: dict[Transaction, str] = {}
        self.send_sequence = 0
        self.peer: Endpoint | None = None
        self.pending: dict[int, Waiting] = {}
        self.pending_writer: Transaction | None = None
        self.pending_settled = 0
        self.status = ""
        self.timer_due: float | None = None
        self.alarm_writer: Transaction | None = None
        self.creator: Transaction | None = None
        self.security_timestamp: float | None = None
        self.dead = 0
        self.inbox: Inbox = None  # type: ignore[assignment]

    def told(self, transaction: Transaction | None) -> str:
        """What this side has been told, as ``transaction`` sees it."""
        if self.arrivals and transaction is not None:
            return self.arrivals.get(transaction, self.said)
        return self.said

    def state(self, transaction: Transaction | None = None) -> str:
        """The two-letter state, as ``transaction`` sees it (F-208)."""
        if self.own in {CLOSED, GONE}:
            return "CD"
        if self.own == ENDED:
            return "DO"
        told = self.told(transaction)
        if told == PEER_ENDED:
            return "DI"
        if told == PEER_ERROR:
            return cast(str, value(self.broker.engine, "error_receiver_state"))
        if told:
            return "ER"
        return "SO" if self.is_initiator and self.send_sequence == 0 else "CO"

    def state_text(self, transaction: Transaction | None) -> str:
        """The state as the errors about it print it."""
        state = self.state(transaction)
        return state if value(self.broker.engine, "state_text") == "code" else STATES[state]

    def usable(self, transaction: Transaction) -> bool:
        """Whether this side may SEND: nobody has ended and nothing has failed."""
        return not (self.own or self.said or transaction in self.arrivals)
