"""ALTER DATABASE SET of the broker's options. Not part of a user transaction: immediate.

Source: ALTER DATABASE SET options page, and the page on managing broker identities where it
disagrees (switch ``new_broker_conversations``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.errors import SqlError
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.journal import MISSING
from redial_broker.ssb import alarms
from redial_broker.ssb.conversation import GONE, OPEN, PEER_ENDED
from redial_broker.ssb.ends import broker_altered
from redial_broker.ssb.faults import fault
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.conversation import Endpoint


def enable(broker: Broker) -> None:
    """ENABLE_BROKER: delivery starts, the identity stays. Raises SqlError 9772."""
    if broker.enabled:
        return
    for other in broker.brokers():
        if other is not broker and other.enabled and other.guid == broker.guid:
            raise SqlError(9772, broker.database.name)
    broker.engine.journal.assign(None, broker, "enabled", True)
    broker_altered(broker)


def disable(broker: Broker) -> None:
    """DISABLE_BROKER: what is sent from now on waits in the transmission queue."""
    if broker.enabled:
        broker.engine.journal.assign(None, broker, "enabled", False)
        broker_altered(broker)


def new_broker(broker: Broker) -> None:
    """NEW_BROKER: a new identity, enabled; all conversations of the database are removed.

    Raises SqlError 9775 in a read-only database.
    """
    engine = broker.engine
    if getattr(broker.database, "read_only", False):
        raise SqlError(9775, broker.database.name)
    serial = broker.take_id()  # also makes the next identity differ
    if value(engine, "new_broker_conversations") == "error":
        for endpoint in _open(broker):
            fault(None, endpoint, 9719)
    else:
        for handle in sorted(broker.endpoints):
            _remove(broker, handle)
        for queue in broker.queues():
            queue.reset_poison()
    guid = stream_guid(engine.seed, f"broker/{broker.database.id}/{broker.database.name}", serial)
    engine.journal.assign(None, broker, "guid", guid)
    engine.journal.assign(None, broker, "enabled", True)
    broker_altered(broker)


def error_conversations(broker: Broker) -> None:
    """ERROR_BROKER_CONVERSATIONS: enabled; every end here gets -9719, far ends elsewhere -9720."""
    broker.engine.journal.assign(None, broker, "enabled", True)
    for endpoint in _open(broker):
        fault(None, endpoint, 9719)
        peer = endpoint.peer
        if peer is not None and peer.broker is not broker and peer in _open(peer.broker):
            fault(None, peer, 9720)
    broker_altered(broker)


def session_keys_lost(broker: Broker, transaction: Transaction | None = None) -> None:
    """A master key nobody can open was regenerated with FORCE: secured dialogs get -28052."""
    for endpoint in _open(broker):
        if endpoint.encrypted:
            fault(transaction, endpoint, 28052)


def _open(broker: Broker) -> list[Endpoint]:
    """Endpoints that have not ended and not failed, by handle."""
    return [
        endpoint
        for _, endpoint in sorted(broker.endpoints.items())
        if endpoint.own == OPEN and not endpoint.dead and endpoint.said in {"", PEER_ENDED}
    ]


def _remove(broker: Broker, handle: str) -> None:
    """Take one endpoint away with its messages; nobody is told."""
    endpoint = broker.endpoints[handle]
    journal = broker.engine.journal
    endpoint.service.queue.forget(endpoint.inbox)
    alarms.disarm(endpoint)
    broker.remove_member(endpoint)
    journal.assign(None, endpoint, "own", GONE)
    journal.assign(None, endpoint, "dead", 2)
    journal.put(None, broker, broker.senders, handle, MISSING)
    broker.remove_endpoint(endpoint)
