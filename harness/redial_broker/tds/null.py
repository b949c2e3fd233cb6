"""An instance that does nothing: it answers at once, so what remains is the cost of the wire.

``invoke bench`` measures against it (null_server_*), and the driver tests build on it. It knows
SELECT of one integer, SET, USE, transactions, EXEC and calls of any procedure (status 0, OUTPUT
parameters unchanged), and what drivers ask on their own.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from redial_broker.catalog.procedures import types as datatypes
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import INT, Message, ResultColumn
from redial_broker.instance.requests import (
    Batch,
    BulkLoad,
    Request,
    Rpc,
    RpcBatch,
    RpcParam,
    TransactionRequest,
)
from redial_broker.tds import constants as c

if TYPE_CHECKING:
    from redial_broker.instance.requests import Wire
    from redial_broker.instance.sink import Sink

USER, PASSWORD = "sa", "Null-1-Instance"
DATABASES = ("master", "tempdb")

_SELECT = re.compile(r"select (-?\d+)(?: as \[?(\w+)\]?)?", re.I)
_TRANSACTION = re.compile(
    r"(if @@trancount > 0 )?(begin|commit|rollback|save)(?: tran(?:saction)?\b.*)?", re.I
)
_USE = re.compile(r"use \[?(\w+)\]?", re.I)
_CALL = re.compile(r"(?:exec|execute)\b", re.I)
_COMMANDS = {
    "begin": c.CMD_BEGIN,
    "commit": c.CMD_COMMIT,
    "rollback": c.CMD_ROLLBACK,
    "save": c.CMD_SAVE,
}
_CMD_SET = 0xBE
_NO_TRANSACTION = {"commit": 3902, "rollback": 3903, "save": 628}


class NullDatabase(NamedTuple):
    """All a database is here."""

    name: str


class NullSession:
    """A session of the null instance; ``statement`` is what tests override."""

    wire: Wire

    def __init__(self, instance: NullInstance, session_id: int, database: str) -> None:
        self.instance = instance
        self.id = session_id
        self.database = NullDatabase(database)
        self.sink: Sink = cast("Sink", None)
        self.transactions = 0
        self.resets: list[bool] = []
        self.closed = False
        self._prepared: dict[int, str] = {}
        self._last_handle = 0
        self._request: Request | None = None

    def submit(self, request: Request) -> None:
        """Take a request; the next ``pump`` answers it."""
        self._request = request
        self.instance.ready.append(self)

    def attention(self) -> None:
        """End the running request."""
        if self._request is not None:
            self._request = None
            self.sink.finish()

    def reset(self, keep_transaction: bool) -> None:
        """As a pool asks before it hands the connection on."""
        self.resets.append(keep_transaction)
        self._prepared.clear()
        if not keep_transaction:
            self.transactions = 0

    def close(self) -> None:
        """The client is gone."""
        self.closed = True
        self._request = None
        self.instance.sessions.pop(self.id, None)

    def step(self) -> None:
        """Answer the request in hand."""
        request = self._request
        if request is None:
            return
        try:
            waits = self._run(request)
        except SqlError as error:
            self.sink.message(Message(error.number, error.severity, error.state, error.text))
            self.sink.done(0, None, True)
            if isinstance(request, Rpc | RpcBatch):
                self.sink.proc_done(True)
            waits = False
        if not waits:
            self._request = None
            self.sink.finish()

    def statement(self, text: str, params: Sequence[RpcParam]) -> bool:
        """Answer one statement. True: not finished, something else will finish it.

        Raises NotSupported for what the null instance does not know.
        """
        sink = self.sink
        match = _SELECT.fullmatch(text)
        if match:
            sink.columns([ResultColumn(match[2] or "", INT, False)])
            sink.row((int(match[1]),))
            sink.done(c.CMD_SELECT, 1)
        elif not text or text[:4].lower() == "set ":
            sink.done(_CMD_SET, None)
        elif match := _TRANSACTION.fullmatch(text):
            if match[1] and not self.transactions:  # JDBC asks before it commits
                sink.done(0, None)
            else:
                self._transaction(match[2].lower())
        elif match := _USE.fullmatch(text):
            self._use(match[1])
        elif text.lower().startswith("sp_datatype_info"):  # FreeTDS, as a batch
            self._sp_datatype_info_100(())
        elif _CALL.match(text):
            sink.done(c.CMD_EXECUTE, None)
        else:
            raise NotSupported(f"the statement {text[:60]!r} in its null instance")
        return False

    def _run(self, request: Request) -> bool:
        if isinstance(request, Batch):
            return self.statement(" ".join(request.text.split()).rstrip(";"), ())
        if isinstance(request, Rpc):
            return self._call(request)
        if isinstance(request, RpcBatch):
            for call in request.calls:
                self._call(call)
        elif isinstance(request, TransactionRequest):
            self._transaction(request.kind, request.begin_after)
        elif isinstance(request, BulkLoad):
            self.sink.done(c.CMD_BULK, len(request.rows))
        return False

    def _use(self, database: str) -> None:
        if database not in DATABASES:
            raise SqlError(911, database)
        old, self.database = self.database, NullDatabase(database)
        self.sink.env("database", database, old.name)
        text = f"Changed database context to '{database}'."
        self.sink.message(Message(5701, 0, 2, text))
        self.sink.done(0, None)

    def _transaction(self, kind: str, begin_after: bool = False) -> None:
        sink = self.sink
        if kind == "begin":
            self.transactions += 1
            if self.transactions == 1:
                sink.env("begin", self.id, None)
        elif not self.transactions:
            raise SqlError(_NO_TRANSACTION[kind])
        elif kind != "save":
            self.transactions = 0 if kind == "rollback" else self.transactions - 1
            if not self.transactions:
                sink.env(kind, None, self.id)
            if begin_after:
                self.transactions = 1
                sink.env("begin", self.id, None)
        sink.done(_COMMANDS[kind], None)

    def _call(self, call: Rpc) -> bool:
        name = call.name.lower().replace("[", "").replace("]", "").rpartition(".")[2]
        prepared = getattr(self, f"_{name}", None) if name.startswith("sp_") else None
        outputs = [(i, p, p.value) for i, p in enumerate(call.params) if p.output]
        if prepared is not None:
            handle = prepared(call.params)
            if handle is not None:
                outputs[0] = (0, call.params[0], handle)
        else:
            self.procedure(name, call.params)
        self.sink.return_status(0)
        for ordinal, param, value in outputs:
            self.sink.return_value(ordinal, param.name, param.type, value)
        self.sink.proc_done(False)
        return False

    def procedure(self, name: str, params: Sequence[RpcParam]) -> None:
        """Any procedure: nothing to do."""

    def _prepare(self, text: str) -> int:
        self._last_handle += 1
        self._prepared[self._last_handle] = text
        return self._last_handle

    def _text(self, text: object, params: Sequence[RpcParam]) -> None:
        self.statement(" ".join(str(text).split()).rstrip(";"), params)

    def _sp_executesql(self, params: Sequence[RpcParam]) -> None:
        self._text(params[0].value, params[2:])

    def _sp_prepare(self, params: Sequence[RpcParam]) -> int:
        return self._prepare(str(params[2].value))

    def _sp_prepexec(self, params: Sequence[RpcParam]) -> int:
        self._prepared.pop(cast(int, params[0].value), None)
        self._text(params[2].value, params[3:])
        return self._prepare(str(params[2].value))

    def _sp_prepexecrpc(self, params: Sequence[RpcParam]) -> int:
        self._prepared.pop(cast(int, params[0].value), None)
        self.procedure(str(params[1].value), params[2:])
        return self._prepare(f"EXEC {params[1].value}")

    def _sp_execute(self, params: Sequence[RpcParam]) -> None:
        text = self._prepared.get(cast(int, params[0].value))
        if text is None:
            raise SqlError(8179, params[0].value)
        self._text(text, params[1:])

    def _sp_unprepare(self, params: Sequence[RpcParam]) -> None:
        self._prepared.pop(cast(int, params[0].value), None)

    def _sp_datatype_info_100(self, params: Sequence[RpcParam]) -> None:
        sink = self.sink
        wanted = params[0].value if params else 0
        sink.columns(datatypes.COLUMNS)
        for row in datatypes.rows(int(cast(int, wanted) or 0), 3, late=True):
            sink.row(row)
        sink.done(c.CMD_SELECT, None)


class NullInstance:
    """Answers whatever is asked at once; has no time, so no timers."""

    session_type: type[NullSession] = NullSession
    user, password = USER, PASSWORD

    def __init__(self) -> None:
        self.ready: deque[NullSession] = deque()
        self.sessions: dict[int, NullSession] = {}
        self._last_id = 50

    def login(self, user: str, password: str, database: str = "", **client: object) -> NullSession:
        """A session, or SqlError 18456 or 4060."""
        if (user.lower(), password) != (self.user, self.password):
            raise SqlError(18456, user)
        if database and database not in DATABASES:
            raise SqlError(4060, database)
        self._last_id += 1
        session = self.session_type(self, self._last_id, database or DATABASES[0])
        self.sessions[session.id] = session
        return session

    def pump(self, max_steps: int = 1000) -> bool:
        """Answer what was submitted; True when some is left."""
        ready = self.ready
        while ready and max_steps:
            ready.popleft().step()
            max_steps -= 1
        return bool(ready)

    def next_due(self) -> float | None:
        """Never."""
        return None
