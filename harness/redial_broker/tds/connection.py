"""One client's protocol state: bytes in, bytes out, requests to a session of the instance.

No socket, no clock, no thread: the server feeds ``receive``, lets the instance run, and sends what
``take_output`` returns. Nothing a client sends makes a method of ``Connection`` raise.
"""

from __future__ import annotations

import logging
import ssl
import struct
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from redial.tsql.errors import NOT_SUPPORTED
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import Message
from redial_broker.instance.defects import defect_message, described
from redial_broker.instance.requests import Wire
from redial_broker.tds import constants as c
from redial_broker.tds import prelogin, tokens
from redial_broker.tds.login7 import Login, decode_login
from redial_broker.tds.packets import Incoming, PacketReader, ProtocolError, frame
from redial_broker.tds.requests import (
    decode_batch,
    decode_bulk_load,
    decode_rpc,
    decode_transaction,
)
from redial_broker.tds.sink import TdsSink
from redial_broker.tds.tls import TlsChannel, TlsContexts

if TYPE_CHECKING:
    from redial_broker.instance.requests import Request
    from redial_broker.tds.served import Served, ServedSession

_A = TypeVar("_A")

_LOG = logging.getLogger(__name__)

_DECODERS: dict[int, Callable[[bytes], Request]] = {
    c.SQL_BATCH: decode_batch,
    c.RPC: decode_rpc,
    c.TRANSACTION_MANAGER: decode_transaction,
    c.BULK_LOAD: decode_bulk_load,
}
_BROKEN_VALUES = (ValueError, OverflowError, IndexError, struct.error)
_BROKEN_STREAM = "The incoming tabular data stream (TDS) protocol stream is incorrect: {}."
_LOGIN_FAILED = 18456
_INTEGRATED_REFUSED = 18452
_CANNOT_OPEN = 4060
_HIGHEST_SEVERITY = 25


class Connection:
    """The server's end of one connection.

    instance: gives out sessions (``Served``: an ``Instance``, or one that does nothing).
    tls: contexts, None to offer no encryption. wake: called when output appears.

    closing: send what ``take_output`` returns, then close the transport. running: the session has
    a request to work on, so the instance should be pumped. failed_login: the name whose password was
    wrong, or that there is not.
    """

    def __init__(
        self,
        instance: Served,
        tls: TlsContexts | None = None,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._instance = instance
        self._tls = tls
        self._wake = wake
        self._out: list[bytes] = []
        self._reader = PacketReader()
        self._secure: TlsChannel | None = None
        self._handshake: TlsChannel | None = None
        self._login_only = False
        self._strict = False
        self._started = False
        self._on_message = self._prelogin
        self._sink = TdsSink(self._transmit, self._request_finished)
        self._queue: deque[Incoming] = deque()
        self.session: ServedSession | None = None
        self.login: Login | None = None
        self.failed_login: str | None = None
        self.running = False
        self.closing = False

    # --- transport -----------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take bytes from the transport and act on every message they complete."""
        if not self.closing and data:
            self._guarded(self._take, data)

    def take_output(self) -> bytes:
        """Bytes to send, in order; each byte is returned once."""
        return b"".join(self.take_pieces())

    def take_pieces(self) -> list[bytes]:
        """The same in pieces: joining a large answer would only copy it once more."""
        out, self._out = self._out, []
        return out

    def resume(self) -> bool:
        """Start the next queued request when none runs; True when one was started.

        Called by the server after each pump, not when a request ends: that is inside the pump.
        """
        started = False
        while self._queue and not self.running and not self.closing:
            self._guarded(self._start, self._queue.popleft())
            started = started or self.running
        return started

    def lost(self) -> None:
        """The transport is gone: the session ends and rolls back what it had open."""
        self.closing = True
        self._queue.clear()
        self.running = False
        session, self.session = self.session, None
        if session is not None:
            session.close()

    def shutdown(self) -> None:
        """The server stops: say so to a client that waits for an answer, then close."""
        if self.running:
            text = "SHUTDOWN is in progress."
            self._fail(Message(6005, c.FATAL_SEVERITY, 1, text))
        self.closing = True
        self._wake()

    def abort(self, text: str) -> None:
        """A defect of ours: end the connection, with the reason where the protocol allows."""
        self._fail(defect_message(text))

    @property
    def established(self) -> bool:
        """True once the login has succeeded."""
        return self.session is not None

    @property
    def orphaned(self) -> bool:
        """True when the instance has ended the session (KILL) while no request ran."""
        session = self.session
        return session is not None and self._instance.sessions.get(session.id) is not session

    def disconnect(self) -> None:
        """Close without a word, as the server does to an idle connection whose session ended."""
        self.closing = True
        self._wake()

    def _guarded(self, step: Callable[[_A], None], argument: _A) -> None:
        try:
            step(argument)
        except ProtocolError as error:
            self._break(str(error))
        except Exception as error:
            _LOG.exception("connection %s", self._sink.spid)
            self.abort(described(error))

    def _transmit(self, data: bytes) -> None:
        self._out.append(data if self._secure is None else self._secure.encrypt(data))
        self._wake()

    def _take(self, data: bytes) -> None:
        if not self._started:
            self._started = True
            if data[0] == c.TLS_RECORD and self._tls is not None:
                self._strict = True
                self._handshake = TlsChannel(self._tls.strict)
            elif data[0] not in (c.PRELOGIN, c.LOGIN7):  # a browser, a scanner, a wrong port
                raise ProtocolError(f"first byte {data[0]:#x}")
        if self._strict and self._handshake is not None:
            data = self._strict_handshake(data)
        elif self._secure is not None:
            data = self._decrypt(data)
        self._reader.feed(data)
        while not self.closing:
            message = self._reader.next()
            if message is None:
                break
            self._on_message(message)

    def _decrypt(self, data: bytes) -> bytes:
        assert self._secure is not None
        plain = self._secure.decrypt(data)
        if self._secure.closed and not plain:
            self.closing = True
            self._wake()
        return plain

    def _strict_handshake(self, data: bytes) -> bytes:
        assert self._handshake is not None
        answer, complete = self._handshake.handshake(data)
        if answer:
            self._out.append(answer)
            self._wake()
        if not complete:
            return b""
        self._secure, self._handshake = self._handshake, None
        return self._decrypt(b"")  # a request may have come along with the last flight

    # --- failure -------------------------------------------------------------------------------

    def _break(self, reason: str) -> None:
        """The client broke the protocol; clients see why, once they can read tokens at all."""
        _LOG.info("connection %s: %s", self._sink.spid, reason)
        text = _BROKEN_STREAM.format(reason)
        self._fail(Message(c.PROTOCOL_ERROR, c.FATAL_SEVERITY, 1, text))

    def _fail(self, message: Message) -> None:
        # Before the login is due a client can read nothing but PRELOGIN and TLS.
        if not self.closing and self._on_message in (self._login, self._request):
            try:
                self._sink.reply(tokens.failure(message))
            except ssl.SSLError:
                _LOG.debug("connection %s: TLS is broken as well", self._sink.spid)
        self.closing = True
        self._wake()

    def _refuse_login(self, *messages: Message, old_layout: bool = False) -> None:
        *first, last = messages
        data = b"".join(tokens.message(m, old_layout=old_layout) for m in first)
        self._sink.reply(data + tokens.failure(last, old_layout=old_layout))
        self.closing = True

    # --- before the login ----------------------------------------------------------------------

    def _prelogin(self, message: Incoming) -> None:
        if message.kind == c.LOGIN7:  # old habit, allowed: a login at once, in clear
            self._login(message)
            return
        if message.kind != c.PRELOGIN or message.ignored:
            raise ProtocolError(f"packet type {message.kind:#x} where PRELOGIN was expected")
        wanted = prelogin.client_encryption(prelogin.decode_prelogin(message.body))
        if self._strict:
            # The channel is encrypted already; the client's own value is the expected answer.
            self._transmit(frame(c.REPLY, prelogin.answer(wanted), c.PACKET_DEFAULT))
            self._on_message = self._login
            return
        granted = prelogin.server_encryption(wanted, self._tls is not None)
        self._transmit(frame(c.REPLY, prelogin.answer(granted), c.PACKET_DEFAULT))
        self._on_message = self._login
        if granted != prelogin.ENCRYPT_NOT_SUPPORTED:
            assert self._tls is not None
            self._login_only = granted == prelogin.ENCRYPT_OFF
            self._handshake = TlsChannel(self._tls.encapsulated)
            self._reader.single = True
            self._on_message = self._handshake_packet

    def _handshake_packet(self, message: Incoming) -> None:
        if message.kind != c.PRELOGIN:
            raise ProtocolError(f"packet type {message.kind:#x} during the TLS handshake")
        assert self._handshake is not None
        answer, complete = self._handshake.handshake(message.body)
        if answer:
            self._transmit(frame(c.PRELOGIN, answer, c.PACKET_DEFAULT))
        if complete:
            self._secure, self._handshake = self._handshake, None
            self._on_message = self._login
            rest = self._reader.rest()  # behind the last handshake packet comes raw TLS
            self._reader.single = False
            if rest:
                self._reader.feed(self._decrypt(rest))

    def _login(self, message: Incoming) -> None:
        if message.kind != c.LOGIN7 or message.ignored:
            raise ProtocolError(f"packet type {message.kind:#x} where LOGIN7 was expected")
        login = decode_login(message.body)
        if self._login_only:
            self._secure = None  # at once and without close_notify: the answer goes in clear
        refusal = self._login_refusal(login)
        if refusal is not None:
            self._refuse_login(refusal, old_layout=not login.supported)
            return
        try:
            session = self._instance.login(
                login.user,
                login.password,
                login.database,
                app=login.app,
                host=login.host,
                client_pid=login.client_pid,
            )
        except SqlError as error:
            if error.number == _LOGIN_FAILED:
                self.failed_login = login.user
            self._refuse_login(*_login_messages(error, login.user))
            return
        self.login = login
        self._established(session, login)

    def _login_refusal(self, login: Login) -> Message | None:
        fatal = c.FATAL_SEVERITY
        if not login.supported:
            text = "The embedded broker speaks TDS 7.2 to 7.4 and 8.0 (SQL Server 2005 and later)."
            return Message(NOT_SUPPORTED, fatal, 1, text)
        if login.integrated:
            text = (
                "Login failed. The embedded broker knows SQL Server logins only, no integrated "
                "authentication."
            )
            return Message(_INTEGRATED_REFUSED, 14, 1, text)
        if login.change_password:
            text = "The embedded broker does not support changing a password at login."
            return Message(NOT_SUPPORTED, fatal, 1, text)
        return None

    def _established(self, session: ServedSession, login: Login) -> None:
        sink = self._sink
        session.sink = sink
        self.session = session
        sink.spid = session.id & 0xFFFF
        size = max(c.PACKET_MIN, min(login.packet_size or c.PACKET_DEFAULT, c.PACKET_MAX))
        session.wire = Wire(self._secure is not None, size, login.answer_version, login.library)
        # The reply itself still goes out in packets of the old size.
        sink.reply(_login_reply(login, session.database.name, size))
        sink.packet_size = size
        self._reader.limit = c.MESSAGE_MAX_BYTES
        self._on_message = self._request

    # --- requests ------------------------------------------------------------------------------

    def _request(self, message: Incoming) -> None:
        if message.kind == c.ATTENTION:
            self._attention()
        elif self.running or self._queue:
            if len(self._queue) >= c.QUEUED_MAX:
                raise ProtocolError(f"more than {c.QUEUED_MAX} requests at a time")
            self._queue.append(message)
        else:
            self._start(message)

    def _attention(self) -> None:
        if self.running:
            self._sink.cancel()
            cast("ServedSession", self.session).attention()
        else:
            self._sink.acknowledge_attention()

    def _start(self, message: Incoming) -> None:
        sink = self._sink
        if message.ignored:  # withdrawn half-sent: one DONE with the error bit (2.2.1.6)
            sink.reply(tokens.done(c.DONE, c.DONE_ERROR))
            return
        decode = _DECODERS.get(message.kind)
        if decode is None:
            raise ProtocolError(f"packet type {message.kind:#x} where a request was expected")
        reset = message.status & (c.RESET | c.RESET_KEEP_TRANSACTION)
        sink.begin(message.kind == c.RPC, reset=bool(reset))
        try:
            request = decode(message.body)
            if reset:
                self._reset(bool(message.status & c.RESET_KEEP_TRANSACTION))
            self.running = True
            cast("ServedSession", self.session).submit(request)
        except NotSupported as error:
            self._refuse(error)
        except SqlError as error:
            self._refuse(error)
        except _BROKEN_VALUES as error:
            if self.running:  # not the client's bytes: the instance failed on a decoded request
                raise
            raise ProtocolError(f"a value cannot be read ({error})") from None

    def _reset(self, keep_transaction: bool) -> None:
        cast("ServedSession", self.session).reset(keep_transaction)

    def _refuse(self, error: SqlError) -> None:
        sink = self._sink
        sink.message(
            Message(error.number, error.severity, error.state, error.text, "", error.line or 1)
        )
        sink.finish()

    def _request_finished(self) -> None:
        self.running = False
        if self._sink.fatal:
            self.closing = True
            self._wake()


def _login_messages(error: SqlError, user: str) -> list[Message]:
    """What a failed login shows. Never why the name or password was wrong, always state 1."""
    failed = Message(_LOGIN_FAILED, 14, 1, f"Login failed for user '{user}'.")
    if error.number == _LOGIN_FAILED:
        return [failed]
    severity = min(error.severity, _HIGHEST_SEVERITY)
    first = Message(error.number, severity, error.state, error.text)
    return [first, failed] if error.number == _CANNOT_OPEN else [first]


def _login_reply(login: Login, database: str, packet_size: int) -> bytes:
    """The tokens of a successful login, in the server's order (2.2.6.4, 4.2)."""
    context = f"Changed database context to '{database}'."
    language = "Changed language setting to us_english."
    parts = [
        tokens.env_text(c.ENV_DATABASE, database, "master"),
        tokens.message(Message(5701, 0, 2, context)),
        tokens.env_bytes(c.ENV_COLLATION, c.COLLATION, b""),
        tokens.env_text(c.ENV_LANGUAGE, "us_english", ""),
        tokens.message(Message(5703, 0, 1, language)),
        tokens.env_text(c.ENV_PACKET_SIZE, str(packet_size), str(c.PACKET_DEFAULT)),
        tokens.login_ack(login.answer_version),
    ]
    if c.FEATURE_UTF8 in login.features:
        parts.append(tokens.feature_ack({c.FEATURE_UTF8: b"\x01"}))
    parts.append(tokens.done(c.DONE, 0))
    return b"".join(parts)
