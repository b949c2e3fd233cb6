"""What Service Broker needs of rooms above it, and how its rows are written in types.

Types alone: nothing of it is there when the broker runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Any, Protocol

    from redial_broker.engine.needs import Owner
    from redial_broker.engine.transactions import Transaction
    from redial_broker.ssb import transport
    from redial_broker.ssb.broker import Broker
    from redial_broker.ssb.definitions import MessageType
    from redial_broker.ssb.inbox import Inbox

    Stored = tuple[int, int, MessageType, bytes | None, float]
    """A message in a queue: see ``inbox.Message``."""

    Waiting = tuple[str, MessageType, bytes | None, float]
    """A row of a transmission queue: (kind, type, body, since when in clock seconds)."""

    HeldRow = tuple[Inbox, int, int, MessageType, bytes | None, Transaction | None]
    """A system row for a queue that is off: (inbox, rank, sequence, type, body, its writer)."""

    ReadyKey = tuple[int, int | str, str]
    """Place in a ready list: (-priority, queuing order or group, handle)."""

    TimerKey = tuple[int, Any]
    """(database id, what): a handle, the object id of a queue, or "all"."""

    BrokerEvent = tuple[Any, ...]
    """(name, ...) of what a transaction leaves for ``ends``. Any: each name has parts of its own,
    and the handler says which."""

    class Caller(Owner, Protocol):
        """What verbs need of a session (``exec.session.SessionState``). expired: its WAITFOR's
        time is over."""

        @property
        def transaction(self) -> Transaction | None:
            """The current one."""

        def work(self) -> Transaction:
            """The transaction to work in; one is begun where there is none."""

        def new_guid(self) -> str:
            """The next id of its own stream."""

        def wait_for(self, kind: str, what: object, timeout_ms: int, /) -> None:
            """Wait for something that is no lock; raises Wait. Below 0: for ever."""

    class HomeServer(Protocol):
        """What a broker needs of the instance's databases (``exec.server.Server``)."""

        @property
        def transport(self) -> transport.Transport:
            """What of Service Broker belongs to the instance."""

        @property
        def databases(self) -> Mapping[str, BrokerHome]:
            """All of them by lower-case name."""

    class BrokerHome(Protocol):
        """What a broker needs of its database (``exec.database.Database``).

        Besides, where it has them: ``options``, ``user_access`` and ``schema_version``.
        """

        id: int
        name: str

        @property
        def broker(self) -> Broker:
            """Its own."""

        @property
        def server(self) -> HomeServer:
            """The instance it is in; None, or none at all, for one that stands alone."""

        @property
        def objects(self) -> MutableMapping[tuple[str, str], Any]:
            """By lower-case schema and name. Any: objects of every kind, queues among them."""

    class BodyCheck(Protocol):
        """An XML schema collection, to a message type (``exec.xml.schemas``)."""

        def failure(self, body: bytes, /) -> str | None:
            """Why a body is not valid; None when it is."""
