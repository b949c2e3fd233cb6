"""What of Service Broker belongs to the instance: its endpoint and server event notifications.

The endpoint is in the catalog and decides what a message that should leave the instance waits for;
nothing listens and nothing is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redial_broker.engine.journal import Journal, Part
from redial_broker.engine.state import definition, journaled, made, plain, state
from redial_broker.ssb.counters import Counters

if TYPE_CHECKING:
    from redial_broker.ssb.notifications import EventNotification

STATES = {"STARTED": 0, "STOPPED": 1, "DISABLED": 2}
"""state of sys.endpoints by state_desc."""

AUTHENTICATIONS = {
    "NTLM": 1,
    "KERBEROS": 2,
    "NEGOTIATE": 3,
    "CERTIFICATE": 4,
    "NTLM, CERTIFICATE": 5,
    "KERBEROS, CERTIFICATE": 6,
    "NEGOTIATE, CERTIFICATE": 7,
    "CERTIFICATE, NTLM": 8,
    "CERTIFICATE, KERBEROS": 9,
    "CERTIFICATE, NEGOTIATE": 10,
}
"""connection_auth of sys.service_broker_endpoints by connection_auth_desc (page of the view)."""

ENCRYPTIONS = {
    "NONE": 0,
    "RC4": 1,
    "AES": 2,
    "NONE, RC4": 3,
    "NONE, AES": 4,
    "RC4, AES": 5,
    "AES, RC4": 6,
    "NONE, RC4, AES": 7,
    "NONE, AES, RC4": 8,
}
"""encryption_algorithm by encryption_algorithm_desc (page of the view)."""


@definition()
@dataclass(frozen=True, slots=True)
class BrokerEndpoint:
    """The one endpoint FOR SERVICE_BROKER."""

    endpoint_id: int
    name: str
    owner: int
    """Login id."""
    state: str = "STOPPED"
    port: int = 0
    authentication: str = "NEGOTIATE"
    certificate_id: int = 0
    encryption: str = "AES"
    forwarding: bool = False
    forward_size: int = 10
    """Megabytes."""


class Transport(Part):
    """broker_endpoint: None without one; notifications: ON SERVER, by lower-case name;
    server_name: as @@SERVERNAME has it."""

    __slots__ = ("broker_endpoint", "counters", "notifications", "server_name")
    STATE = state(
        journaled("broker_endpoint", "notifications", show=plain),
        made("counters", hidden="a part of its own"),
        made("server_name", hidden="chosen when the instance was made"),
    )

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self.server_name = ""
        self.counters = Counters(journal)
        self.broker_endpoint: BrokerEndpoint | None = None
        self.notifications: dict[str, EventNotification] = {}
