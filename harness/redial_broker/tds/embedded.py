"""``EmbeddedBroker``: an instance behind TDS on a thread of its own, for tests and the demo."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar, cast

from redial_broker.engine.clock import RealClock, VirtualClock
from redial_broker.instance.defects import described
from redial_broker.tds.drivers import jdbc_url, odbc_connection_string
from redial_broker.tds.server import TdsServer

if TYPE_CHECKING:
    from redial_broker.instance.instance import Instance
    from redial_broker.instance.snapshot import Snapshot
    from redial_broker.tds.null import NullInstance
    from redial_broker.tds.served import Served

_T = TypeVar("_T")

_THREAD_SECONDS = 30.0
"""Longest the server's thread takes to open its port, and to end."""

CALL_SECONDS = 120.0
"""Longest a caller waits for the server thread: past that, something runs without end."""


CLOCKS: dict[str, Callable[[], RealClock | VirtualClock]] = {
    "real": RealClock,
    "virtual": VirtualClock,
}


def make_instance(
    seed: int,
    clock: str,
    switches: dict[str, object] | None,
    password: str | None = None,
    product: str | None = None,
) -> Instance:
    """A fresh Instance on the named clock, with a password for sa other than the usual one."""
    from redial_broker.instance.instance import PASSWORD, Instance

    return Instance(seed, CLOCKS[clock](), switches, password or PASSWORD, product=product)


def credentials(instance: Served | None = None) -> tuple[str, str]:
    """Name and password of the administrator of an instance; a null instance has its own."""
    if hasattr(instance, "password"):
        null = cast("NullInstance", instance)
        return null.user, null.password
    from redial_broker.instance.instance import PASSWORD, USER

    return USER, PASSWORD


class EmbeddedBroker:
    """A running embedded broker.

    seed: of every id the instance makes. clock: 'real', or 'virtual' for time that only
    ``advance`` moves. port: 0 for a free one. switches: see the instance. instance: use this one
    instead of making one (it then belongs to the server's thread: touch it through ``call``).
    password: of the login sa, None for the usual one. tls: False to offer no encryption.
    product: the version and edition it says it is, see the instance.

    Use it as a context manager, or ``start`` and ``stop`` it. One trap: pyodbc holds the
    interpreter lock while it asks the server about table-valued parameters and for
    ``fast_executemany``, so a server in the same process could never answer. Use
    ``process.BrokerProcess`` for those.
    """

    def __init__(
        self,
        seed: int = 0,
        clock: str = "real",
        port: int = 0,
        switches: dict[str, object] | None = None,
        *,
        instance: Served | None = None,
        password: str | None = None,
        tls: bool = True,
        product: str | None = None,
    ) -> None:
        if clock not in CLOCKS:
            raise ValueError(f"clock={clock!r}: must be one of {sorted(CLOCKS)}")
        self._make: Callable[[], Served] = (
            (lambda: instance)
            if instance is not None
            else (lambda: make_instance(seed, clock, switches, password, product))
        )
        self.user, usual = credentials(instance)
        self.password = password or usual
        self.clock = clock
        self.port = port
        self._tls = tls
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: TdsServer | None = None
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> EmbeddedBroker:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # --- life ----------------------------------------------------------------------------------

    def start(self) -> EmbeddedBroker:
        """Start the thread and return when connections are accepted; OSError for a taken port."""
        ready: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(ready,), name="embedded-broker", daemon=True
        )
        self._thread.start()
        ready.result(_THREAD_SECONDS)
        return self

    def stop(self) -> None:
        """End every connection and the thread; harmless when it is stopped already."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        thread.join(_THREAD_SECONDS)

    def _run(self, ready: Future[None]) -> None:
        try:
            asyncio.run(self._main(ready))
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def _main(self, ready: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = self._server = TdsServer(
            self._make(), port=self.port, virtual_time=self.clock == "virtual", tls=self._tls
        )
        await server.start()
        self.port = server.port
        ready.set_result(None)
        await self._stop.wait()
        await server.stop()

    # --- what clients need ---------------------------------------------------------------------

    @property
    def odbc(self) -> str:
        """Connection string for pyodbc with Microsoft's ODBC Driver 18."""
        return odbc_connection_string(self.port, self.user, self.password, encrypt=self._tls)

    @property
    def jdbc(self) -> str:
        """URL for Microsoft's JDBC driver."""
        return jdbc_url(self.port, self.user, self.password, encrypt=self._tls)

    @property
    def defects(self) -> list[str]:
        """Exceptions nobody foresaw so far, as text; a test may insist on none."""
        if self._server is None:
            return []
        noted = getattr(self._server.instance, "defects", None)  # a null instance notes none
        return [
            *(f"{where}: {text}" for where, text in (noted.found if noted else ())),
            *map(described, self._server.defects),
        ]

    # --- control -------------------------------------------------------------------------------

    def call(self, function: Callable[[Instance], _T]) -> _T:
        """Run ``function(instance)`` on the server's thread and return its result.

        What the function raises is raised here. Sessions it made ready run right after it.
        """

        async def work() -> _T:
            assert self._server is not None
            try:
                return function(cast("Instance", self._server.instance))
            finally:
                self._server.pump_soon()

        return self._on_thread(work())

    def advance(self, seconds: float) -> None:
        """Move the virtual clock, stopping at every timer on the way so that each runs in time.

        Returns when nothing is ready to run. ValueError on a real clock or a negative step.
        """
        if self.clock != "virtual":
            raise ValueError("advance() needs clock='virtual'")
        if seconds < 0:
            raise ValueError(f"cannot advance by {seconds} s")
        self._on_thread(self._advance(seconds))

    def settle(self) -> None:
        """Return when no session is ready to run (all wait for a client, a lock or the clock)."""

        async def work() -> None:
            assert self._server is not None
            self._server.pump_soon()
            await self._server.quiet()

        self._on_thread(work())

    def snapshot(self) -> Snapshot:
        """A moment to come back to with ``restore``, once nothing is ready to run."""
        self.settle()
        return self.call(lambda instance: instance.snapshot())

    def restore(self, snapshot: Snapshot) -> None:
        """Bring the instance back to a snapshot of it.

        Connections opened since are ended, as KILL ends them: do not let a pool keep them.
        RuntimeError for a snapshot that an earlier one's restore has taken along.
        """
        self.settle()
        self.call(lambda _: snapshot.restore())

    async def _advance(self, seconds: float) -> None:
        server = self._server
        assert server is not None
        server.pump_soon()
        await server.quiet()
        left = seconds
        while True:
            due = server.instance.next_due()
            step = left if due is None else min(max(due, 0.0), left)
            clock = cast("Instance", server.instance).clock
            cast(VirtualClock, clock).advance(step)
            left -= step
            server.pump_soon()
            await server.quiet()
            if left <= 0:
                return

    def _on_thread(self, work: Coroutine[object, None, _T]) -> _T:
        if self._loop is None or self._thread is None:
            work.close()
            raise RuntimeError("the embedded broker is not running")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_SECONDS)
