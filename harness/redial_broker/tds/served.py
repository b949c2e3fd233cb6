"""What the wire needs of whom it serves: an instance, and the sessions it gives out.

``instance.Instance`` and ``NullInstance`` have it. At run time nobody asks; mypy does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redial_broker.instance.instance import Instance
    from redial_broker.instance.requests import Request, Wire
    from redial_broker.instance.sink import Sink
    from redial_broker.tds.null import NullInstance
    from redial_broker.tds.sink import TdsSink

    def _is_sink(sink: TdsSink) -> Sink:
        return sink

    def _are_served(instance: Instance, null: NullInstance) -> tuple[Served, Served]:
        return instance, null


class Named(Protocol):
    """What a session is in, to a client: a database's name."""

    @property
    def name(self) -> str:
        """As the database was created."""


class ServedSession(Protocol):
    """A client's session: it takes requests one at a time and answers to its sink."""

    id: int
    """What a client knows as @@SPID."""
    wire: Wire
    """How the client is connected."""

    @property
    def sink(self) -> Sink:
        """To whom it speaks."""

    @sink.setter
    def sink(self, sink: Sink) -> None: ...

    @property
    def database(self) -> Named:
        """The current one."""

    def submit(self, request: Request) -> None:
        """Take a request; ``pump`` answers it and the sink hears ``finish`` at its end."""

    def attention(self) -> None:
        """The client cancels what runs."""

    def reset(self, keep_transaction: bool) -> None:
        """As after a login, for the next user of a pooled connection."""

    def close(self) -> None:
        """The client is gone: everything open is rolled back."""


class Served(Protocol):
    """An instance behind the wire; only the server's thread touches it."""

    @property
    def sessions(self) -> Mapping[int, ServedSession]:
        """The live sessions by id."""

    def login(
        self,
        user: str,
        password: str,
        database: str = "",
        *,
        app: str = "",
        host: str = "",
        client_pid: int = 0,
    ) -> ServedSession:
        """A new session. Raises SqlError 18456 (name or password) or 4060 (database)."""

    def pump(self, max_steps: int = 1000) -> bool:
        """Run what is ready for a slice; True when there is more to do at once."""

    def next_due(self) -> float | None:
        """Seconds until time alone makes something ready; None when it never will."""
