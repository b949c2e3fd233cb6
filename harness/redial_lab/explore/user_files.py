"""Anybody's own T-SQL: a TOML file that names scripts, sessions, faults and what must hold.

docs/explorer-files.md describes the file and shows two. Every wrong key is told at once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from redial.tsql import TsqlSyntaxError, parse_batch, split_batches
from redial_broker.engine.errors import SqlError
from redial_broker.engine.switches import SwitchError, known, shown
from redial_broker.instance.instance import Instance
from redial_lab.explore.checks import Check, all_of, no_deadlock, nothing_left_behind
from redial_lab.explore.faults import OF_THE_SERVER, Fault, known_kinds
from redial_lab.explore.message_accounts import Ledger, Places, balanced
from redial_lab.explore.queries import QueryError, ask_all
from redial_lab.explore.scenario import LIVELOCK
from redial_lab.explore.world import Client, EndlessError, Scenario, World, execute

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from redial_lab.explore.queries import Row
    from redial_lab.explore.world import Searchable


class OwnError(ValueError):
    """A file cannot be searched; ``problems`` holds one line for each thing wrong in it."""

    def __init__(self, source: str, problems: list[str]) -> None:
        self.problems = problems
        super().__init__(f"{source}:\n" + "\n".join(f"  - {line}" for line in problems))


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SessionPart(_Section):
    """An application's session."""

    name: str = Field(min_length=1)
    batches: tuple[str, ...] = Field(min_length=1)
    warm: tuple[str, ...] = ()
    """Batches run before the search."""
    on_cancel: str = ""
    """What it runs after a cancel."""
    on_error: str = ""
    """After a batch that raised an error."""
    sends: tuple[str | tuple[str, ...], ...] = ()
    """For the accounting, the message each batch sends, or a list of them ('' for none)."""


class InvariantPart(_Section):
    """A query whose rows are violations."""

    name: str = Field(min_length=1)
    sql: str = Field(min_length=1)
    when: Literal["at rest", "always"] = "at rest"
    """At rest (nobody can go on), or always: in every state in which it need not wait for a lock."""


class FaultPart(_Section):
    """A fault: a kind of the explorer's, or T-SQL an operator runs at any moment."""

    kind: str = Field(min_length=1)
    times: int = Field(1, ge=1, le=9)
    who: str = ""
    sql: str = ""
    at_once: bool = False
    """Its statements are one step, as far as it need not wait."""


class AccountingPart(_Section):
    """Queries of one column: the messages that lie in a place."""

    landed: str
    pending: str = ""
    dead_lettered: str = ""
    before: tuple[str, ...] = ()
    """What was sent already."""


class SearchPart(_Section):
    """Bounds, and which generic checks are left out."""

    timers: int = Field(0, ge=0, le=9)
    """Conversation timers that may fire."""
    lifetimes: int = Field(0, ge=0, le=9)
    """Dialogs whose lifetime may end."""
    in_one_go: tuple[str, ...] = ()
    """Queues whose readers run in one step."""
    statements_atomic: bool = False
    """Nobody comes in inside a statement."""
    transitions: int = Field(500_000, ge=1)
    deadlocks_allowed: bool = False
    locks_may_stay: bool = False
    livelocks_allowed: bool = False


class OwnFile(_Section):
    """The whole file."""

    name: str = Field(min_length=1)
    database: str = Field(min_length=1)
    scripts: tuple[str, ...] = Field(min_length=1)
    """Relative to it, run in order; the first creates the database."""
    session: tuple[SessionPart, ...] = Field(min_length=1)
    invariant: tuple[InvariantPart, ...] = ()
    fault: tuple[FaultPart, ...] = ()
    accounting: AccountingPart | None = None
    search: SearchPart = SearchPart()
    switches: dict[str, Any] = Field(default_factory=dict)  # each has a type of its own


def load(path: Path | str) -> tuple[Scenario, SearchPart]:
    """The scenario a file describes, prepared once to see that it can be. Raises OwnError."""
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OwnError(str(path), [f"cannot be read: {error}"]) from error
    try:
        own = OwnFile.model_validate(data)
    except ValidationError as error:
        raise OwnError(str(path), [*dict.fromkeys(map(_said, error.errors()))]) from None
    problems = _problems(own, path.parent)
    if problems:
        raise OwnError(str(path), problems)
    scenario = _scenario(own, path.parent)
    try:
        world = World(scenario)
        for invariant in own.invariant:
            _asked(world, f"invariant {invariant.name!r}", invariant.sql)
        if scenario.account is not None:
            scenario.account(world)
    except SqlError as error:  # nobody comes into it
        told = f"database: {own.database}: Msg {error.number}: {error.text}"
        raise OwnError(str(path), [told]) from error
    except (AssertionError, EndlessError, QueryError, ValueError) as error:
        raise OwnError(str(path), [str(error)]) from error
    queues = {queue.name for queue in world.instance.server.database(own.database).broker.queues()}
    world.close()
    unknown = sorted(set(own.search.in_one_go) - queues)
    if unknown:
        told = f"in_one_go: no queue {', '.join(unknown)}; there are: {', '.join(sorted(queues))}"
        raise OwnError(str(path), [told])
    return scenario, own.search


def _said(error: ErrorDetails) -> str:
    """What is wrong with a field, and where it stands; entries count from 1."""
    *above, last = error["loc"]
    place = ".".join(f"{p + 1}" if isinstance(p, int) else p for p in (*above, last))
    if error["type"] != "extra_forbidden":
        return f"{place}: {error['msg']}"
    part: type[_Section] = OwnFile
    for name in above:
        if isinstance(name, str):
            part = _PARTS[name]
    known_ones = list(part.model_fields)
    near = get_close_matches(str(last), known_ones, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known_ones)}"
    return f"{place}: there is no such key; {hint}"


_PARTS: dict[str, type[_Section]] = {
    "session": SessionPart,
    "invariant": InvariantPart,
    "fault": FaultPart,
    "accounting": AccountingPart,
    "search": SearchPart,
}
"""Parts of a file by the keys they stand under."""


def _problems(own: OwnFile, folder: Path) -> list[str]:
    """What is wrong between the fields."""
    problems = [
        f"scripts: {name}: {'is a folder' if (folder / name).is_dir() else 'there is no such file'}"
        " (relative to this one)"
        for name in own.scripts
        if not (folder / name).is_file()
    ]
    named = [own.name, *(s.name for s in own.session), *(i.name for i in own.invariant)]
    problems += [
        f"name {name!r}: has a character that is not printed"
        for name in named
        if not name.isprintable()
    ]
    problems += [f"{where}: {error}" for where, text in _texts(own) if (error := _unread(text))]
    names = [part.name for part in own.session]
    problems += [
        f"session: {name!r} is there twice" for name in sorted(set(names)) if names.count(name) > 1
    ]
    for part in own.session:
        if part.sends and len(part.sends) != len(part.batches):
            problems.append(f"session {part.name}: sends: one entry for each batch")
        if part.sends and own.accounting is None:
            problems.append(f"session {part.name}: sends needs [accounting]")
    kinds = [fault.kind for fault in own.fault]
    for fault in own.fault:
        if kinds.count(fault.kind) > 1:
            problems.append(f"fault {fault.kind}: each kind once; use times")
        if not fault.sql and fault.kind not in known_kinds():
            allowed = ", ".join(known_kinds())
            problems.append(f"fault {fault.kind}: allowed: {allowed}, or another name with sql")
        if fault.sql and fault.kind in known_kinds():
            problems.append(f"fault {fault.kind}: has a meaning of its own; give it another name")
        if fault.who and fault.kind in OF_THE_SERVER:
            problems.append(f"fault {fault.kind}: strikes the server; leave out who")
        if fault.at_once and not fault.sql:
            problems.append(f"fault {fault.kind}: at_once belongs to sql")
        if fault.who not in ("", "reader", *names):
            problems.append(
                f"fault {fault.kind}: who: {fault.who!r} is no session; allowed: "
                f"reader, {', '.join(names)}"
            )
    for name, value in own.switches.items():
        try:
            known(name).parse(shown(value))
        except SwitchError as error:
            problems.append(f"switches: {error}")
    return problems


def _texts(own: OwnFile) -> Iterator[tuple[str, str]]:
    """All T-SQL of a file, and where it stands."""
    for part in own.session:
        for number, text in enumerate(part.batches, 1):
            yield f"session {part.name}: batch {number}", text
        for text in part.warm:
            yield f"session {part.name}: warm", text
        yield f"session {part.name}: on_cancel", part.on_cancel
        yield f"session {part.name}: on_error", part.on_error
    yield from ((f"fault {fault.kind}", fault.sql) for fault in own.fault)
    yield from ((f"invariant {one.name}", one.sql) for one in own.invariant)


def _unread(text: str) -> str:
    """Why a batch cannot be read at all; "" where it can."""
    try:
        parse_batch(text)
    except TsqlSyntaxError as error:
        return f"line {error.line}: Msg {error.number}: {error.message}"
    return ""


def _scenario(own: OwnFile, folder: Path) -> Scenario:
    search = own.search
    limits = {"ssb.timer": search.timers, "ssb.lifetime": search.lifetimes}
    always = [_held(part, False) for part in own.invariant if part.when == "always"]
    rest = [_held(part, True) for part in own.invariant]
    watched = None if always else _nothing  # deadlocks stay counted
    if not search.deadlocks_allowed:
        always.append(no_deadlock)
    if not search.locks_may_stay:
        rest.append(nothing_left_behind)
    ledger = _ledger(own)
    if ledger is not None:
        rest.append(balanced(ledger))
    return Scenario(
        own.name,
        lambda: _prepared(own, folder),
        tuple(
            Client(part.name, part.batches, own.database, part.warm, part.on_cancel, part.on_error)
            for part in own.session
        ),
        on_every_state=all_of(*always),
        at_the_end=all_of(*rest),
        in_one_go=frozenset(search.in_one_go),
        statements_atomic=search.statements_atomic,
        firings=search.timers + search.lifetimes,
        timer_kinds=frozenset(kind for kind, times in limits.items() if times),
        timer_limits=limits,
        account=ledger,
        asked=own.database,
        faults=tuple(
            Fault(part.kind, part.times, part.who, part.sql, own.database, part.at_once)
            for part in own.fault
        ),
        switches={name: known(name).parse(shown(value)) for name, value in own.switches.items()},
        livelock="" if search.livelocks_allowed else LIVELOCK,
        watched=watched,
        notes=tuple(f"readers of {queue} run in one step" for queue in search.in_one_go),
    )


def _nothing(_: World) -> None:
    """What checks look at that may change back."""


def _ledger(own: OwnFile) -> Ledger | None:
    part = own.accounting
    if part is None:
        return None
    batches = {
        (number, batch): kept
        for number, session in enumerate(own.session)
        for batch, found in enumerate(session.sends)
        if (kept := tuple(filter(None, [found] if isinstance(found, str) else found)))
    }
    return Ledger(
        batches,
        Places(
            _listed("landed", part.landed),
            _listed("pending", part.pending),
            _listed("dead_lettered", part.dead_lettered),
        ),
        part.before,
    )


def _listed(place: str, sql: str) -> Callable[[World], list[str]]:
    """What a place holds: the first column, bytes as hexadecimal digits."""

    def look(world: World) -> list[str]:
        found = _asked(world, f"accounting {place}", sql) if sql else [[]]
        if found is None:
            raise QueryError(f"accounting {place}: its query waits for a lock that is left at rest")
        return [
            row[0].hex().upper() if isinstance(row[0], bytes) else str(row[0])
            for rows in found
            for row in rows
            if row[0] is not None
        ]

    return look


def _held(part: InvariantPart, at_rest: bool) -> Check:
    """An invariant as a check: its name is the violation's. At rest it must be read."""

    def check(world: World) -> list[str]:
        found = _asked(world, f"invariant {part.name!r}", part.sql)
        if found is None and at_rest:
            return [f"{part.name}: not read, its query waits"]
        return [part.name] if any(found or ()) else []

    return check


def _asked(world: World, what: str, sql: str) -> list[list[Row]] | None:
    try:
        return ask_all(world, sql)
    except QueryError as error:
        raise QueryError(f"{what}: {error}") from None


def _prepared(own: OwnFile, folder: Path) -> Instance:
    """An instance on a virtual clock with the scripts run. Raises AssertionError naming the place
    of the first error.
    """
    instance = Instance(seed=1)
    session = instance.connect()
    for name in own.scripts:
        try:
            batches = split_batches((folder / name).read_text(encoding="utf-8"))
        except TsqlSyntaxError as error:
            raise AssertionError(f"{name}: {error}") from None
        for sql, line, count in batches:
            for _ in range(count):
                try:
                    failed = execute(cast("Searchable", instance), session, sql).error()
                except EndlessError as error:
                    raise AssertionError(f"{name}, line {line}: {error}") from None
                if failed is not None:
                    raise AssertionError(
                        f"{name}, line {line + failed.line - 1}: Msg {failed.number}: {failed.text}"
                    )
    session.close()
    instance.run()
    return instance
