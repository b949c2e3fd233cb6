"""Programs: a batch or module as a flat array of statement closures, and frames that run it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from redial_broker.engine.state import Stateful, made, plain, saved, state
from redial_broker.engine.types import SqlType
from redial_broker.exec.liveness import live_slots

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial.tsql.ast import Node, Source
    from redial_broker.exec.closures import Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.options import Options
    from redial_broker.exec.principals import Principal
    from redial_broker.exec.session import SessionState

    Step = Callable[[SessionState, Values], int | None]

SWITCH = -1
"""A step returns this when it has pushed or popped a frame."""


@dataclass(slots=True)
class StatementInfo:
    """What is known of the statement behind one program counter."""

    node: Node | None
    line: int
    shared: bool = False
    """It may read or change what other sessions see (the explorer yields before it)."""
    resume: int = 0
    """Where to go on after an error that only ends the statement."""
    targets: tuple[int, ...] | None = None
    """Where the step may go, None for just the next one."""
    handler: int | None = None
    """The CATCH block an error in it goes to."""
    told: int = 0
    """What the client is told when it has succeeded (``completions.told``)."""
    reads_clock: bool = False
    ends: bool = False
    """It is the end of a frame."""


@dataclass(slots=True)
class ParameterInfo:
    """A parameter: its slot is its position."""

    name: str
    type: SqlType
    output: bool = False
    readonly: bool = False
    default: Callable[[SessionState], Any] | None = None
    """Callable (session) -> value, or None."""
    table_type: Any = None
    cursor: bool = False


@dataclass(slots=True)
class Program:
    """A compiled batch, procedure or dynamic text. Shared by sessions; holds no state of a run."""

    name: str
    schema: str
    database: Database
    source: Source
    object_id: int = 0
    code: list[Step] = field(default_factory=list)
    infos: list[StatementInfo] = field(default_factory=list)
    parameters: list[ParameterInfo] = field(default_factory=list)
    slots: list[tuple[str, SqlType | None]] = field(default_factory=list)
    table_slots: list[tuple[int, Any]] = field(default_factory=list)
    execute_as: Any = None
    quoted_identifier: bool = True
    ansi_nulls: bool = True
    deferred: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """(node, its compiler, context) of the statements compiled at their first run."""
    types_of: int = 0
    """The schema's version whose own types it was compiled with; 0 where it uses none."""
    _live: list[frozenset[int]] | None = None
    _word: bytes = b""
    _numbers: dict[str, int] | None = None

    def parameter_slot(self, name: str) -> int | None:
        """Slot of the parameter of that name (with @, any case); None when there is none."""
        if self._numbers is None:
            self._numbers = {p.name.lower(): slot for slot, p in enumerate(self.parameters)}
        return self._numbers.get(name.lower())

    def stands(self, database: Database) -> bool:
        """Whether what it was compiled with is still there."""
        return not self.types_of or self.types_of == database.schema_version

    def live(self, pc: int) -> frozenset[int]:
        """Slots whose values can still be read from ``pc`` on (worked out when first asked)."""
        if self._live is None:
            self._live = live_slots(self)
        return self._live[pc]

    @property
    def word(self) -> bytes:
        """What it is, for the state hash: name, text and definitions; worked out once."""
        if not self._word:
            known = (
                self.full_name,
                self.database.name if self.database is not None else "",
                self.source.text,
                [(p.name, str(p.type), p.output) for p in self.parameters],
                [(name, str(type_)) for name, type_ in self.slots],
                self.quoted_identifier,
                self.ansi_nulls,
            )
            self._word = blake2b(repr(known).encode(), digest_size=16).digest()
        return self._word

    @property
    def full_name(self) -> str:
        """database.schema.name of a module, "adhoc" for a batch."""
        if not self.name:
            return "adhoc"
        return f"{self.database.name}.{self.schema}.{self.name}"


NO_SIGNERS: frozenset[bytes] = frozenset()
"""Thumbprints of what runs unsigned."""


def signatures(program: Program, session: SessionState) -> frozenset[bytes]:
    """Who signed what is about to run (ADD SIGNATURE page).

    A module has its own signatures, and of its caller's those that countersigned it; dynamic text
    keeps its caller's.
    """
    caller = session.frames[-1].signers if session.frames else NO_SIGNERS
    if not program.object_id:
        return caller
    signed = program.database.signatures
    if not signed:
        return NO_SIGNERS
    own = signed.get(program.object_id, ())
    return frozenset(mark for mark, counter, _ in own if not counter or mark in caller)


def _text(program: Program) -> bytes:
    return program.word


def _options(options: Options) -> bytes:
    return options.word


def _name(database: Database | None) -> str:
    return database.name if database is not None else ""


def _identity(saved: tuple[str, tuple[Database, Principal] | None]) -> Any:
    login, sandbox = saved
    return login, None if sandbox is None else (sandbox[0].name, _user(sandbox[1]))


@lru_cache(maxsize=1024)
def _user(principal: Principal | None) -> Any:
    return plain(principal)


_OF_CALL = "follows from the calling statement, in the caller's text"


def _return_status(frame: Frame) -> Any:
    """What its return status is made of, where the caller asks for it."""
    return (frame.status, frame.severity) if frame.on_return is not None else None


class Frame(Stateful):
    """One activation of a program: counter, local values, active TRY blocks.

    handlers: (catch pc, depth of the session's error stack) per TRY block entered.
    outputs: (parameter slot, setter) to run when a call returns. on_return: (session, status).
    levels: by how many it counts in @@NESTLEVEL. severity: of the worst error its own statements
    raised, caught or not (F-521).
    firing: of a trigger's frame, the statement that fired it (never changed afterwards).
    saved_*, impersonations: of the caller, and how many EXECUTE AS were open there; saved_scope is
    its SCOPE_IDENTITY(), which no module it calls changes (SCOPE_IDENTITY page). signers:
    thumbprints of the certificates whose rights the running code has.
    """

    __slots__ = (
        "database",
        "errors",
        "firing",
        "handlers",
        "impersonations",
        "levels",
        "on_return",
        "outputs",
        "pc",
        "program",
        "saved_identity",
        "saved_options",
        "saved_scope",
        "saved_user",
        "severity",
        "signers",
        "status",
        "trancount",
        "variables",
    )
    STATE = state(
        made("program", show=_text),
        saved("pc"),
        saved(
            "variables",
            copy=list,
            in_place=True,  # output setters of a callee hold this list
            hidden="the session shows those that can still be read (``session_content``)",
        ),
        saved("handlers", copy=list),
        saved("status", "severity", of=_return_status),
        made("errors", "levels", "trancount", "impersonations"),
        made("saved_options", show=_options),
        made("saved_user", show=_user),
        made("saved_identity", show=_identity),
        made("saved_scope", when="identity"),
        made("signers", show=sorted),
        made("database", show=_name),
        made("firing", hidden="the session shows it (``session_content``)"),
        made("outputs", "on_return", hidden=_OF_CALL),
        journal="database.engine.journal",
    )

    def __init__(self, program: Program, variables: Values, session: SessionState) -> None:
        self.shown_once = None
        self.program = program
        self.pc = 0
        self.variables = variables
        self.handlers: list[tuple[int, int]] = []
        self.errors = len(session.error_stack)
        self.outputs: list[tuple[int, Callable[[Any], None]]] = []
        self.on_return: Callable[[SessionState, int], None] | None = None
        self.firing: Any = None
        self.status: Any = None  # what RETURN gave; of a scalar function its value
        self.severity = 0
        self.levels = 1
        self.trancount = session.trancount
        self.saved_options = session.options
        self.saved_scope = session.scope_identity
        self.saved_user = session.user
        self.saved_identity = (session.login_name, session.sandbox)
        self.impersonations = len(session.user_stack)
        self.signers = signatures(program, session)
        self.database = session.database

    def restore_caller(self, session: SessionState) -> None:
        """The session acts as the caller again, in the caller's database."""
        session.user = self.saved_user
        session.scope_identity = self.saved_scope
        session.login_name, session.sandbox = self.saved_identity
        if len(session.user_stack) > self.impersonations:
            del session.user_stack[self.impersonations :]
        session.database = self.database
