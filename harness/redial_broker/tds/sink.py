"""The sink that writes a session's answers as tokens (contract: ``instance.sink``).

Tokens go straight into one buffer. A DONE is held back until it is known whether another token
follows, because its MORE bit says so: without it FreeTDS and python-tds fall out of step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import cast

from redial_broker.engine.types import Message, ResultColumn, SqlType
from redial_broker.instance.defects import defect_message
from redial_broker.tds import constants as c
from redial_broker.tds import tokens
from redial_broker.tds.encoders import Encode
from redial_broker.tds.packets import frame

_LOG = logging.getLogger(__name__)
_FLUSH_BYTES = 32 * 1024
"""A large result leaves in pieces of about this size while the statement still runs."""

_PIECE_BYTES = 1024 * 1024
"""A large value is framed and encrypted in pieces of this size, so that few copies of it exist."""

_METADATA_MAX = 512
_ROW = bytes([c.ROW])

_TRANSACTION_ENV = {"begin": c.ENV_BEGIN, "commit": c.ENV_COMMIT, "rollback": c.ENV_ROLLBACK}
_TEXT_ENV = {"database": c.ENV_DATABASE, "language": c.ENV_LANGUAGE}


class TdsSink:
    """Encodes one session's answers; ``send`` takes framed packets, ``finished`` ends a request.

    fatal: a message ended the connection.
    """

    streams = True

    def __init__(self, send: Callable[[bytes], None], finished: Callable[[], None]) -> None:
        self._send = send
        self._finished = finished
        self.spid = 0
        self.packet_size = c.PACKET_DEFAULT
        self.fatal = False
        self._buffer = bytearray()
        self._packet_id = 1
        self._held: tuple[int, int, int, int] | None = None
        self._encoders: list[Encode] = []
        self._metadata: dict[tuple[ResultColumn, ...], tuple[bytes, list[Encode]]] = {}
        self._rpc = False
        self._rows = False
        self._failed = False
        self._status: int | None = None
        self._values: list[bytes] = []
        self._attentions = 0

    # --- one request ---------------------------------------------------------------------------

    def begin(self, rpc: bool, reset: bool = False) -> None:
        """A request starts; of an rpc every statement is inside. reset: acknowledge a reset first."""
        self._rpc = rpc
        self._failed = False
        self._status = None
        if reset:
            self._buffer += tokens.env_bytes(c.ENV_RESET, b"", b"")

    def cancel(self) -> None:
        """An attention arrived: from here on say nothing but what the client must know."""
        self._attentions += 1

    @property
    def cancelled(self) -> bool:
        """True between an attention and the end of the request it hit."""
        return self._attentions > 0

    def finish(self) -> None:
        """The request is complete: release the held DONE as the last one and send everything."""
        if self._attentions:
            self._finish_cancelled()
        else:
            if self._held is None or self._held[0] == c.DONEINPROC:
                self._ended(c.DONE, c.CMD_NOTHING, None, self._failed)
            self._release(0)
            self._flush_all()
        self._finished()

    def _finish_cancelled(self) -> None:
        # Section 2.2.7.6 wants one acknowledgement per attention; drivers also want the cancelled
        # request to end with its own message first: JDBC hangs, pyodbc's cancel is silent else.
        self._release(c.DONE_MORE)
        self._buffer += tokens.done(c.DONE, c.DONE_ERROR)
        self._values.clear()
        self._flush_all()
        for _ in range(self._attentions):
            self.acknowledge_attention()
        self._attentions = 0

    def acknowledge_attention(self) -> None:
        """DONE with the attention bit, a message of its own."""
        self._buffer += tokens.done(c.DONE, c.DONE_ATTN)
        self._flush_all()

    def reply(self, data: bytes) -> None:
        """Send ready-made tokens as one whole message (login, refusals)."""
        self._buffer += data
        self._flush_all()

    # --- what a session says -------------------------------------------------------------------

    def columns(self, columns: Sequence[ResultColumn]) -> None:
        """A result set starts."""
        if self._attentions:
            return
        key = tuple(columns)
        known = self._metadata.get(key)
        if known is None:
            if len(self._metadata) >= _METADATA_MAX:
                self._metadata.clear()
            known = self._metadata[key] = tokens.column_metadata(key)
        if self._held is not None:
            self._release(c.DONE_MORE)
        self._buffer += known[0]
        self._encoders = known[1]
        self._rows = True

    def row(self, values: tuple[object, ...]) -> None:
        """One row; a value that does not fit its column becomes an error, never broken bytes."""
        if self._attentions:
            return
        buffer = self._buffer
        start = len(buffer)
        try:
            buffer += _ROW
            for encode, value in zip(self._encoders, values, strict=True):
                buffer += encode(value)
        except Exception as error:
            del buffer[start:]
            self._defect(f"a row cannot be sent: {error}")
        if len(buffer) > _FLUSH_BYTES:
            self._flush_packets()

    def done(
        self, command: int, rowcount: int | None, error: bool = False, inside: bool = False
    ) -> None:
        """A statement ended; an error said since the last one sets the bit as well.

        Inside a procedure, NOCOUNT (no row count) keeps statements without a result set from
        telling the client anything (SET NOCOUNT page).
        """
        rows, self._rows = self._rows, False
        inside = inside or self._rpc
        if inside and rowcount is None and not (rows or error or self._failed):
            return
        failed, self._failed = error or self._failed, False
        self._ended(c.DONEINPROC if inside else c.DONE, command, rowcount, failed)

    def told(self, command: int, rowcount: int | None, inside: bool) -> None:
        """A statement ended that the client hears of in any case."""
        failed, self._failed = self._failed, False
        self._ended(c.DONEINPROC if inside or self._rpc else c.DONE, command, rowcount, failed)

    def call_status(self, status: int) -> None:
        """The status of an EXECUTE whose end an error still stands before."""
        if self._attentions:
            return
        if self._held is not None:
            self._release(c.DONE_MORE)
        self._buffer += tokens.return_status(status)

    def call_over(self, status: int | None, failed: bool) -> None:
        """An EXECUTE of a batch ended: its status, then DONEPROC (F-534)."""
        if self._attentions:
            return
        if status is not None:
            self.call_status(status)
        self._failed = False
        self._ended(c.DONEPROC, c.CMD_EXECUTE, None, failed)

    def _ended(self, token: int, command: int, rowcount: int | None, failed: bool) -> None:
        if self._attentions:
            return
        if self._held is not None:
            self._release(c.DONE_MORE)
        status = c.DONE_ERROR if failed else 0
        if rowcount is not None:
            status |= c.DONE_COUNT
        self._held = (token, status, command, rowcount or 0)

    def message(self, message: Message) -> None:
        """An error or an information message."""
        if message.severity >= c.FATAL_SEVERITY:
            self.fatal = True
        if self._attentions:
            return
        if self._held is not None:
            self._release(c.DONE_MORE)
        if message.severity > 10:
            self._failed = True
        self._buffer += tokens.message(message)

    def env(self, kind: str, new: str | int | None, old: str | int | None) -> None:
        """A change of the environment; sent even after an attention, the client tracks it."""
        if self._held is not None:
            self._release(c.DONE_MORE)
        if kind in _TRANSACTION_ENV:
            self._buffer += tokens.env_transaction(
                _TRANSACTION_ENV[kind], cast(int, new or 0), cast(int, old or 0)
            )
        elif kind in _TEXT_ENV:
            self._buffer += tokens.env_text(_TEXT_ENV[kind], str(new or ""), str(old or ""))
        elif kind == "collation":
            self._buffer += tokens.env_bytes(c.ENV_COLLATION, c.COLLATION, c.COLLATION)
        else:
            raise ValueError(f"no ENVCHANGE for {kind!r}")

    def return_status(self, status: int) -> None:
        """Return status of an RPC."""
        self._status = status

    def return_value(self, ordinal: int, name: str, type_: SqlType, value: object) -> None:
        """Final value of an OUTPUT parameter; sent behind the status, in the order given."""
        try:
            self._values.append(tokens.return_value(ordinal, name, type_, value))
        except Exception as error:
            self._defect(f"OUTPUT parameter {name or ordinal} cannot be sent: {error}")

    def proc_done(self, error: bool) -> None:
        """An RPC ended: status, values, then its DONEPROC, held back for the next RPC."""
        if self._attentions:
            return
        if self._held is not None:
            self._release(c.DONE_MORE)
        if self._status is not None:
            self._buffer += tokens.return_status(self._status)
        for value in self._values:
            self._buffer += value
        self._values.clear()
        self._status = None
        failed, self._failed = error or self._failed, False
        self._ended(c.DONEPROC, c.CMD_EXECUTE, None, failed)

    # --- buffer --------------------------------------------------------------------------------

    def _release(self, more: int) -> None:
        if self._held is None:
            return
        token, status, command, rows = self._held
        self._held = None
        self._buffer += tokens.done(token, status | more, command, rows)

    def _defect(self, text: str) -> None:
        _LOG.error("%s", text)
        self._failed = True
        self._buffer += tokens.message(defect_message(text, 16))

    def _flush_packets(self) -> None:
        # Whole packets only, and never the last byte: the last packet must carry EOM.
        room = self.packet_size - c.PACKET_HEADER
        count = (len(self._buffer) - 1) // room
        if count <= 0:
            return
        first = self._packet_id
        self._packet_id += count
        step = max(1, _PIECE_BYTES // room)
        with memoryview(self._buffer) as view:
            for at in range(0, count, step):
                piece = view[at * room : min(at + step, count) * room]
                self._send(
                    frame(
                        c.REPLY, piece, self.packet_size, self.spid, first_id=first + at, last=False
                    )
                )
                piece.release()
        del self._buffer[: count * room]

    def _flush_all(self) -> None:
        data, first = self._buffer, self._packet_id
        self._buffer, self._packet_id = bytearray(), 1
        self._send(frame(c.REPLY, data, self.packet_size, self.spid, first_id=first))
