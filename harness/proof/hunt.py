"""Finding mutants: small setups of the shipped scripts, each searched with a mutant in its place.

A mutant is found when a claim is violated, or when somewhere in a setup everything comes to rest in
an outcome the shipped text never comes to, in any order (``outcome``). The shipped text is
installed once; a process is forked for each mutant, alters the one procedure and searches.
"""

from __future__ import annotations

import gc
import os
import pickle
import re
import select
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from harness.broker.engine.switches import given
from harness.broker.instance.instance import Instance
from harness.config import Config
from harness.explore.scenario import Scenario
from harness.explore.search import Limits, Result, search
from harness.explore.world import World
from harness.proof.audit import DATABASE, deployed, rows, undelivered
from harness.proof.battery import IN, WANTED, scenario
from harness.proof.mutate import Mutation, mutations
from harness.render import render
from harness.tsql import split_batches

OTHERWISE = "an outcome the shipped text never comes to"
TRANSITIONS = 6_000
"""Bound of the search of one setup with a mutant in it."""

TARGET_OFF = "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;"
MODULE = re.compile(r"\d\d_(?:\d\d_)?(\w+)\.procedure\.sql")


@dataclass(frozen=True, slots=True)
class Base:
    """An installation, never changed in this process. made: every mutant of its procedures."""

    instance: Instance
    made: Mapping[str, Mutation]


@dataclass(slots=True)
class Case:
    """A setup to hunt in. key: of ``battery.WANTED``; scenario: without a mutant; base: what is
    installed; first: T-SQL after that. outcomes: of the shipped text, all of them where baseline is
    exhausted.
    """

    key: str
    scenario: Scenario
    base: Base
    first: tuple[str, ...] = ()
    outcomes: frozenset[str] = frozenset()
    baseline: Result | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a mutant. case, claim: '' when no case finds it. steps: of its trace as it was
    met. states, transitions, seconds: of all searches for it. searched: in which cases.
    """

    name: str
    line: int = 0
    case: str = ""
    claim: str = ""
    states: int = 0
    transitions: int = 0
    steps: int = 0
    seconds: float = 0.0
    searched: tuple[str, ...] = ()


# ---------------------------------------------------------------------- outcomes
LOOKED_AT: Mapping[str, tuple[str, ...]] = {
    "Landing": ("MessageType", "Body", "MessageSequence"),
    "DeadLetter": ("DeadLetterId", "Side", "MessageType", "Body", "Code", "MessageSequence",
                   "Reason"),
    "ErrorLog": ("ProcedureName", "ErrorNumber", "MessageSequence"),
    "ConversationLog": ("ConversationKey", "EndOfStreamUtc", "EndedUtc", "Messages", "Resent",
                        "DeadLettered", "Code"),
    "SessionConversations": ("ConversationKey",),
    "PoisonAttempt": ("MessageType", "Attempts"),
}


def outcome(world: World) -> str:
    """What somebody could find out about a state at rest, without ids and times of day."""
    found: list[object] = [world.progress.results, sorted(undelivered(world))]
    for table, columns in LOOKED_AT.items():
        found.append(sorted(repr(tuple(
            value is not None if name.endswith("Utc") else value
            for name, value in zip(columns, row))) for row in rows(world, table, *columns)))
    database = world.instance.server.database(DATABASE)
    broker = database.broker
    found.append(sorted((e.is_initiator, e.state()) for e in broker.endpoints.values()))
    found.append([database.resolve("audit", name).enabled
                  for name in ("InitiatorQueue", "TargetQueue")])
    clients = [s for s in world.clients if s.id in world.instance.sessions]
    found.append([(s.transaction is not None, s.options.xact_abort) for s in clients])
    now = world.instance.clock.seconds
    found.append(sorted(round(due - now)
                        for key, due in world.instance.engine.timers.entries.items()
                        if key[0] == "ssb.timer"))
    return repr(found)


def waiting_reader(world: World) -> list[str]:
    """No activated reader of the initiator waits for a row: senders' transactions may be long."""
    for session in world.instance.sessions.values():
        if session.background and session.wait is not None and session.wait.kind == "lock" \
                and "InitiatorQueue" in session.stream \
                and session.wait.resource.key[0] == "KEY":
            return ["an activated reader waits for a row"]
    return []


# ---------------------------------------------------------------------- preparing
def prepare(only: tuple[str, ...] = ()) -> dict[str, Case]:
    """The cases, each searched as it is. only: these. Raises ValueError when one is violated."""
    bases: dict[str, Base] = {}
    texts: dict[str, dict[str, Mutation]] = {}
    cases = {}
    for key, wanted in WANTED.items():
        if only and key not in only:
            continue
        plain, config = scenario(wanted)
        rcsi = "isolation=rcsi" in wanted.setup
        installed = config.model_dump_json()
        shared = f"{installed} {rcsi} {dict(plain.switches)}"
        if installed not in texts:
            texts[installed] = generated(config)
        if shared not in bases:
            with given(plain.switches):
                bases[shared] = Base(deployed(config, rcsi=rcsi), texts[installed])
        first = wanted.first + ((TARGET_OFF,) if "lifetimes=1" in wanted.setup else ())
        case = cases[key] = Case(key, plain, bases[shared], first)
        _as_shipped(case)
    gc.collect()
    gc.freeze()
    return cases


def _as_shipped(case: Case) -> None:
    """Search a case without a mutant. Raises ValueError."""
    answer = forked(lambda: _search(case, None, set()), 300)
    if isinstance(answer, str):
        raise ValueError(f"setup {case.key}: {answer}")
    case.baseline, case.outcomes = answer
    if case.baseline.violations:
        raise ValueError(f"setup {case.key} as shipped: {', '.join(case.baseline.violations)}")


def generated(config: Config) -> dict[str, Mutation]:
    """Every mutant of ``PROCEDURES`` as this configuration has them, by name."""
    made: dict[str, Mutation] = {}
    for name, text in render(config).items():
        found = MODULE.fullmatch(name)
        if found is not None and found[1] in IN:
            sql = next(sql for sql, _, _ in split_batches(text) if "CREATE OR ALTER" in sql)
            made |= {each.name: each for each in mutations(sql)}
    return made


def _search(case: Case, mutation: Mutation | None, seen: set[str] | None = None
            ) -> tuple[Result, frozenset[str]]:
    """Search a case. seen: filled with the outcomes; None: one that is not the case's is found."""
    limits = Limits(transitions=TRANSITIONS if mutation else 60_000, first=True)
    return search(_with(case, mutation, seen), limits), frozenset(seen or ())


def _with(case: Case, mutation: Mutation | None, seen: set[str] | None) -> Scenario:
    plain, instance = case.scenario, case.base.instance
    for text in (*([mutation.text] if mutation else []), *case.first):
        session = instance.connect(DATABASE)
        session.execute(text).ok()
        session.close()
        instance.run()
    comparable = case.baseline is None or case.baseline.exhausted

    def at_the_end(world: World) -> list[str]:
        names = plain.at_the_end(world)
        said = outcome(world)
        if seen is not None:
            seen.add(said)
        elif comparable and said not in case.outcomes:
            names = [*names, OTHERWISE]
        return names

    return replace(plain, prepare=lambda: instance, at_the_end=at_the_end,
                   on_every_state=lambda world: plain.on_every_state(world)
                   + waiting_reader(world))


# ---------------------------------------------------------------------- hunting
def hunt(name: str, cases: Mapping[str, Case]) -> Found:
    """Look for one mutant in the cases of its procedure until one finds it."""
    total = Found(name)
    started = time.perf_counter()
    for key in IN[name.partition(".")[0]]:
        case = cases.get(key)
        mutation = case and case.base.made.get(name)
        if case is None or mutation is None:
            continue
        answer = _searched(case, mutation)
        total = replace(total, line=mutation.line, searched=(*total.searched, key),
                        seconds=time.perf_counter() - started)
        if isinstance(answer, str):  # what was to be there before the search did not come
            return replace(total, case=key, claim=answer)
        total = replace(total, states=total.states + answer.states,
                        transitions=total.transitions + answer.transitions)
        if answer.violations:
            claim, violation = next(iter(answer.violations.items()))
            return replace(total, case=key, claim=claim, steps=len(violation.path))
        if answer.bounded_by.startswith("depth"):
            return replace(total, case=key, claim=f"L3 no end within {Limits().depth} steps",
                           steps=answer.deepest)
    return total


def _searched(case: Case, mutation: Mutation) -> Result | str:
    """The search's result, or why there was none."""
    answer = forked(lambda: _search(case, mutation)[0], 60)
    if not isinstance(answer, str):
        return answer
    kind, _, said = answer.partition(": ")
    if kind == "AssertionError":
        return f"before the search: {said[:50]}"
    return f"L3 {answer}" if answer.startswith("no end") else answer


def forked(work: Callable[[], object], limit: float) -> Any:
    """What work returns, from a process of its own; a text when it fails or takes too long.

    limit: seconds.
    """
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receiving)
            try:
                answer = work()
            except BaseException as error:
                answer = f"{type(error).__name__}: {error}"
            with os.fdopen(sending, "wb") as pipe:
                pickle.dump(answer, pipe)
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        ready, _, _ = select.select([pipe], [], [], limit)
        if not ready:
            os.kill(child, signal.SIGKILL)
        answer = pickle.load(pipe) if ready else f"no end within {limit:.0f} s"
    with suppress(ChildProcessError):
        os.waitpid(child, 0)
    return answer
