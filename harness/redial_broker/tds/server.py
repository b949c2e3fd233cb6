"""The asyncio server around an instance: one socket, one thread, one loop.

Requests run in slices of ``Instance.pump`` so that other clients and attentions are served in
between; a single loop timer waits for the next thing the instance's clock will bring.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, cast

from redial_broker.engine.differences import differs
from redial_broker.tds.connection import Connection
from redial_broker.tds.constants import HOST
from redial_broker.tds.lockout import Lockout
from redial_broker.tds.tls import TlsContexts, tls_contexts

if TYPE_CHECKING:
    from redial_broker.tds.served import Served

_LOG = logging.getLogger(__name__)

SLICE_STEPS = 1000
"""Scheduler steps between two looks at the sockets, a few milliseconds of work."""

INTERLEAVED_STEPS = 16
"""The same where sessions take turns statement by statement: new requests and timers join at once,
so that what overlaps in time overlaps in the instance too."""

LOGIN_SECONDS = 15.0
_TIMER_MIN_SECONDS = 0.001
_FEW_PIECES = 4
"""So many pieces of output go out as one write; of more, each is given up as it is written."""

_BACKLOG = 512
_UNSENT_MAX_BYTES = 1024 * 1024 * 1024
"""A client that does not read its result is cut off here."""


differs(
    "listening",
    "On 127.0.0.1 only, with SQL Server logins; no Windows authentication, no Browser "
    "service, no dedicated administrator connection.",
)


class Link(asyncio.Protocol):
    """Ties one transport to its Connection."""

    def __init__(self, server: TdsServer) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._dirty = False
        self._login_timer: asyncio.TimerHandle | None = None
        self._known = False
        self._held: asyncio.TimerHandle | None = None
        self.connection = Connection(server.instance, server.tls, self._wake)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected; it has ``LOGIN_SECONDS`` to log in."""
        self._transport = cast(asyncio.Transport, transport)
        self._server.links.add(self)
        loop = asyncio.get_running_loop()
        self._login_timer = loop.call_later(LOGIN_SECONDS, self._login_overdue)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived: decode, start what they ask for, run it."""
        connection = self.connection
        connection.receive(data)
        if not self._known:
            self._look_at_login()
        if connection.running:
            self._server.pump()
        else:
            # An attention may have freed what another session waits for.
            self._server.pump_soon()
            self._server.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client went away, politely or not."""
        for timer in (self._login_timer, self._held):
            if timer is not None:
                timer.cancel()
        self._server.links.discard(self)
        try:
            self.connection.lost()
        except Exception as error:
            self._server.defect(error)
        self._server.pump_soon()

    def flush(self) -> None:
        """Send what the connection has to say; close the transport when that was the last."""
        self._dirty = False
        if self._held is not None:
            return
        pieces = self.connection.take_pieces()
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if len(pieces) > _FEW_PIECES:  # the first of them is the next to go
            pieces.reverse()
            while pieces:
                transport.write(pieces.pop())
        elif pieces:
            transport.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if self.connection.closing:
            transport.close()
        elif transport.get_write_buffer_size() > _UNSENT_MAX_BYTES:
            _LOG.warning("a client left %d bytes unread and is cut off", _UNSENT_MAX_BYTES)
            transport.abort()

    def _look_at_login(self) -> None:
        """Who is in has no time limit any more; who is not waits for the answer."""
        connection, server = self.connection, self._server
        self._known = connection.established or connection.failed_login is not None
        if connection.established and connection.login is not None:
            server.lockout.succeeded(connection.login.user)
            if self._login_timer is not None:
                self._login_timer.cancel()
                self._login_timer = None
        elif connection.failed_login is not None:
            seconds = server.lockout.failed(connection.failed_login)
            if seconds and not server.virtual_time:
                loop = asyncio.get_running_loop()
                self._held = loop.call_later(seconds, self.release)

    @property
    def held(self) -> bool:
        """Whether the answer to a failed login is still to come."""
        return self._held is not None

    def release(self) -> None:
        """Send what was held back."""
        if self._held is not None:
            self._held.cancel()
            self._held = None
            self.flush()

    def _wake(self) -> None:
        if not self._dirty:
            self._dirty = True
            self._server.dirty.append(self)

    def _login_overdue(self) -> None:
        self._login_timer = None
        if self._transport is not None:
            self._transport.abort()


class TdsServer:
    """Serves an instance on one listening socket.

    virtual_time: the instance's clock moves only when told to, so no loop timer is armed.
    port: 0 takes a free one; ``port`` holds the real one after ``start``.
    defects: exceptions that came out of the scheduler itself or of a connection's end. None of them
    is any request's: an instance ends the session it broke in, and no other, by itself.
    """

    def __init__(
        self,
        instance: Served,
        *,
        port: int = 0,
        virtual_time: bool = False,
        tls: TlsContexts | bool | None = True,
    ) -> None:
        self.instance = instance
        self._interleaved = getattr(instance, "quantum", SLICE_STEPS) == 1
        self._steps = INTERLEAVED_STEPS if self._interleaved else SLICE_STEPS
        lanes = getattr(instance, "lanes", None)  # a null instance has none
        if lanes is not None:
            lanes.opened = True
        self.tls = tls_contexts() if tls is True else (tls or None)
        self.port = port
        self.links: set[Link] = set()
        self.dirty: list[Link] = []
        self.defects: list[Exception] = []
        self.virtual_time = virtual_time
        self.lockout = Lockout()
        self._listener: asyncio.Server | None = None
        self._scheduled = False
        self._pumping = False
        self._idle = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """Listen; OSError when the port is taken."""
        self._loop = asyncio.get_running_loop()
        self._listener = await self._loop.create_server(
            lambda: Link(self), HOST, self.port, backlog=_BACKLOG
        )
        self.port = self._listener.sockets[0].getsockname()[1]
        self.pump_soon()  # an instance may come with work or timers of its own

    async def stop(self) -> None:
        """Stop listening, tell waiting clients, end every session."""
        if self._listener is not None:
            self._listener.close()
        if self._timer is not None:
            self._timer.cancel()
        for link in list(self.links):
            link.release()
            link.connection.shutdown()
        self.flush()
        for _ in range(3):  # let the transports write and report their end
            await asyncio.sleep(0)
        for link in list(self.links):
            link.connection_lost(None)

    def pump(self) -> None:
        """Run the instance for a slice now, unless slices are already under way.

        An interleaving instance waits for the loop to come round, so that every request that has
        arrived meanwhile runs in the same slice.
        """
        if self._interleaved:
            self.pump_soon()
        elif not self._scheduled and not self._pumping:
            self._slice()

    def pump_soon(self) -> None:
        """Run a slice when the loop comes round again."""
        if not self._scheduled and self._loop is not None and not self._loop.is_closed():
            self._scheduled = True
            self._idle.clear()
            self._loop.call_soon(self._slice)

    async def quiet(self) -> None:
        """Wait until the instance has nothing ready to run."""
        while self._scheduled:
            await self._idle.wait()

    def flush(self) -> None:
        """Send everything that connections have to say."""
        dirty = self.dirty
        while dirty:
            batch, self.dirty = dirty, []
            for link in batch:
                link.flush()
            dirty = self.dirty

    def defect(self, error: Exception) -> None:
        """Keep an exception that is nobody's request's; the others are served on."""
        _LOG.error("the instance raised", exc_info=error)
        self.defects.append(error)

    def _slice(self) -> None:
        self._scheduled = False
        self._pumping = True
        try:
            more = self.instance.pump(self._steps)
        except Exception as error:
            self.defect(error)
            more = False
        finally:
            self._pumping = False
        self._close_orphans()
        for link in self.dirty:
            more = link.connection.resume() or more
        self.flush()
        if more:
            self.pump_soon()
        else:
            self._idle.set()
            self._arm()

    def _close_orphans(self) -> None:
        # A session that disappears leaves its connection to be closed. Each is looked at: their
        # number says nothing where one ends and another begins in the same slice.
        for link in list(self.links):
            if link.connection.orphaned:
                link.connection.disconnect()

    def _arm(self) -> None:
        """One timer for the next due time; left alone when it is already set for that moment."""
        if self.virtual_time or self._loop is None:
            return
        due = self.instance.next_due()
        if due is None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            return
        at = self._loop.time() + max(due, _TIMER_MIN_SECONDS)
        if self._timer is not None:
            if abs(at - self._timer_at) < _TIMER_MIN_SECONDS:
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        self.pump()
