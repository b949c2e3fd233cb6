"""Definitions a database's broker keeps: message types, contracts, services, routes, bindings ..

All but services are immutable: ALTER puts a new object in the place of the old one, so a rollback
only has to put the old one back. A service is a ``Part``, because conversations refer to it while
ALTER SERVICE moves it to another queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redial_broker.engine.journal import Part
from redial_broker.engine.owners import DBO
from redial_broker.engine.state import SAME, definition, journaled, made, state

if TYPE_CHECKING:
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.needs import BodyCheck
    from redial_broker.ssb.queue import Queue


@definition()
@dataclass(frozen=True, slots=True, eq=False)
class MessageType:
    """A message type."""

    message_type_id: int
    name: str
    validation: str
    """``names.NONE``, EMPTY or XML."""
    owner: int = DBO
    """Principal id."""
    collection: BodyCheck | None = None
    """The XML schema collection of VALID_XML, which has ``failure(body)``; else None."""


@definition()
@dataclass(frozen=True, slots=True, eq=False)
class Contract:
    """A contract."""

    contract_id: int
    name: str
    usages: dict[str, int]
    """Message type name -> who may send it (bits of ``names.BY_ANY``)."""
    owner: int = DBO


class Service(Part):
    """A service: its queue and the names of the contracts it may be a target for."""

    __slots__ = ("broker", "contracts", "name", "owner", "queue", "service_id")
    STATE = state(
        made("name", "service_id"),
        journaled("queue", show=str),
        journaled("contracts", show=sorted),
        journaled("owner"),
        made("broker", hidden=SAME),
    )

    def __init__(
        self,
        broker: Broker,
        service_id: int,
        name: str,
        queue: Queue,
        contracts: frozenset[str],
        owner: int = DBO,
    ) -> None:
        super().__init__()
        self.broker = broker
        self.service_id = service_id
        self.name = name
        self.queue = queue
        self.contracts = contracts
        self.owner = owner


@definition()
@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A route."""

    route_id: int
    name: str
    service_name: str | None = None
    broker_instance: str | None = None
    address: str = "LOCAL"
    """LOCAL, TRANSPORT or TCP://host:port."""
    expires: float | None = None
    """Clock seconds, None for ever. Which route a dialog takes, and what becomes of one that leads
    out of the instance, is the business of ``routing``."""
    owner: int = DBO
    mirror_address: str | None = None


@definition()
@dataclass(frozen=True, slots=True, eq=False)
class RemoteServiceBinding:
    """A remote service binding: the user whose certificate stands for a remote service."""

    binding_id: int
    name: str
    service_name: str
    user: int
    """Principal id."""
    anonymous: bool = False
    """ANONYMOUS = ON."""
    owner: int = DBO


@definition()
@dataclass(frozen=True, slots=True, eq=False)
class Priority:
    """A conversation priority; None in a criterion means ANY."""

    priority_id: int
    name: str
    contract: str | None
    local_service: str | None
    remote_service: str | None
    level: int

    @property
    def rank(self) -> int:
        """How specific the match is: contract before local service before remote service.

        This gives the documented order C+L+R, C+L, C+R, C, L+R, L, R, any.
        """
        return (
            4 * (self.contract is not None)
            + 2 * (self.local_service is not None)
            + (self.remote_service is not None)
        )

    def matches(self, contract: str, local_service: str, remote_service: str) -> bool:
        """Whether an endpoint of that contract and those services gets this priority."""
        return (
            self.contract in {None, contract}
            and self.local_service in {None, local_service}
            and self.remote_service in {None, remote_service}
        )
