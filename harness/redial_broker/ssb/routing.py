"""Where a message goes: the routing process of the "Service Broker Routing" page (F-250).

Every route that leads out of the instance ends here: there is no network, so such a message waits
in the transmission queue with the text a server shows that can reach nobody.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redial_broker.engine.broker_messages import text
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.conversation import Endpoint
    from redial_broker.ssb.definitions import RemoteServiceBinding, Route, Service

differs(
    "dialogs to other instances",
    "Nothing leaves the instance. A Service Broker endpoint is in the catalog and does not "
    "listen; what a route leads away waits in sys.transmission_queue with the text of a server "
    "that reaches nobody (F-250).",
)

LOCAL, TRANSPORT = "LOCAL", "TRANSPORT"
CONFIGURATION_SERVICE = "SQL/ServiceBroker/BrokerConfiguration"
"""A route to a service of this name asks that service for routes (dynamic routing)."""

TCP = re.compile(r"tcp://[^:/\s]+(:\d{1,5})?(?=/|$)", re.IGNORECASE)
"""A network address. The port may be left out, as in an example of the CREATE ROUTE page."""

NO_TRANSPORT = "The Service Broker protocol transport is disabled or not configured."
"""Status without a Service Broker endpoint (example of the GET_TRANSMISSION_STATUS page)."""


class Refused(Exception):
    """The broker that was named has no such service: error ``number`` goes to the sender."""

    def __init__(self, number: int, *args: object) -> None:
        super().__init__(number)
        self.number = number
        self.parameters = args


def is_address(address: str) -> bool:
    """Whether a text is a whole network address of a route."""
    found = TCP.match(address)
    return found is not None and found.end() == len(address)


# ---------------------------------------------------------------------- the whole way
def find_target(endpoint: Endpoint) -> Service | str:
    """The service to deliver to, or the status that says why not yet. Raises Refused."""
    broker = endpoint.broker
    if not broker.enabled:
        return text(9791)
    if _single_user(broker):
        return text(28075)
    if not broker.awake:
        return endpoint.status  # a read-only database: nothing of it may change
    if endpoint.peer is not None:
        # The peer's broker is known from its acknowledgement (routing page): the service is here,
        # unless its database has been dropped.
        service = endpoint.peer.service
        if service.broker is not broker and service.broker not in broker.brokers():
            return text(9795)
        return unavailable(service.broker) or service
    routes = matching(endpoint)
    if not routes:
        if endpoint.far_broker is not None and _hosts(broker, endpoint.far_service):
            return _in_instance(endpoint, endpoint.far_broker)  # step 6: as if there were one
        return text(value(broker.engine, "no_route_status"))
    return _choose(endpoint, routes)


def matching(endpoint: Endpoint) -> list[Route]:
    """Routes of the sender's database that match, of the first step at which any does.

    Steps 1, 2, 3 and 5 of "Finding Matching Routes"; expired routes are ignored.
    """
    broker, service, far = endpoint.broker, endpoint.far_service, endpoint.far_broker
    now = broker.engine.clock.now()
    live = [
        route
        for _, route in sorted(broker.routes.items())
        if route.expires is None or route.expires > now
    ]
    named = [route for route in live if route.service_name == service]
    if far is not None:
        found = [route for route in named if route.broker_instance == far]
        if found:
            return found
    found = [route for route in named if route.broker_instance is None]
    if found:
        return found
    if far is None and named:
        # "Arbitrarily pick a Service Broker identifier": the lowest, so that a run repeats.
        picked = min(str(route.broker_instance) for route in named)
        return [route for route in named if route.broker_instance == picked]
    return [route for route in live if route.service_name is None and route.broker_instance is None]


def _choose(endpoint: Endpoint, routes: list[Route]) -> Service | str:
    """One of the matching routes: mirrored, LOCAL, a network address, TRANSPORT."""
    mirrored = [route for route in routes if route.mirror_address is not None]
    local = [route for route in routes if route.address == LOCAL]
    network = [route for route in routes if route.address not in {LOCAL, TRANSPORT}]
    transport = [route for route in routes if route.address == TRANSPORT]
    if mirrored:
        return _unreachable(endpoint)
    if local and (_hosts(endpoint.broker, endpoint.far_service) or not (network or transport)):
        return _in_instance(endpoint, endpoint.far_broker or local[0].broker_instance)
    if transport and not network and TCP.match(endpoint.far_service) is None:
        return text(9785, endpoint.far_service)
    return _unreachable(endpoint)


# ---------------------------------------------------------------------- inside the instance
def _hosts(broker: Broker, name: str) -> bool:
    """Whether any database of the instance has a service of that name."""
    return any(name in other.services for other in broker.brokers())


def _in_instance(endpoint: Endpoint, instance: str | None) -> Service | str:
    """Step 3, "Locating the Destination Service". Raises Refused."""
    name = endpoint.far_service
    if instance is not None:
        for broker in endpoint.broker.brokers():
            if broker.guid == instance:
                if (why := unavailable(broker)) is not None:
                    return why
                service = broker.services.get(name)
                if service is None:
                    raise Refused(8490, name)
                return service
        return text(9795)
    # The sender's own database first, then the others, in order of their ids.
    why = None
    for broker in endpoint.broker.brokers():
        service = broker.services.get(name)
        if service is not None and broker.enabled:
            why = unavailable(broker)
            if why is None:
                return service
    return why or text(9796)


def unavailable(broker: Broker) -> str | None:
    """Why a target database takes no messages, None when it does (28012 with its reasons)."""
    if not broker.enabled:
        return text(28012, text(28013))
    if getattr(broker.database, "state", "") == "OFFLINE":
        return text(28012, SqlError(942, broker.database.name).text)
    if not broker.awake:
        return text(28012, text(28014))
    if _single_user(broker):
        return text(28012, text(28015))
    return None


def _single_user(broker: Broker) -> bool:
    return getattr(broker.database, "user_access", "") == "SINGLE_USER"


# ---------------------------------------------------------------------- out of the instance
def _unreachable(endpoint: Endpoint) -> str:
    """Why nothing leaves: dialog security that cannot be had, then the transport."""
    broker = endpoint.broker
    binding = binding_of(broker, endpoint.far_service)
    if binding is None and endpoint.encrypted:
        return text(9727)
    if binding is not None:
        if not broker.has_master_key:
            return text(28050)
        if not broker.has_certificate(binding.user):
            return text(9731, binding.user)
    transport = getattr(getattr(broker.database, "server", None), "transport", None)
    if transport is None or transport.broker_endpoint is None:
        return NO_TRANSPORT
    if transport.broker_endpoint.state != "STARTED":
        return text(9666, "Service Broker")
    return text(9753)


def binding_of(broker: Broker, service: str) -> RemoteServiceBinding | None:
    """The remote service binding for a service, None without one."""
    return next((b for b in broker.bindings.values() if b.service_name == service), None)
