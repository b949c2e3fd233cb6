"""Finding mutants: small setups of the shipped scripts, each searched with a mutant in its place.

A mutant is found when a claim is violated, when somewhere in a setup everything comes to rest in an
outcome the shipped text comes to in no order (``outcome``), or when somebody waits for something
nobody waits for with the shipped text (``waits``). The shipped text is
installed once; a process is forked for each search, alters the one procedure and searches. A case
in which the shipped text never comes to the changed statement is not searched.
"""

from __future__ import annotations

import gc
import os
import pickle
import re
import resource
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, TypeVar, cast

from redial.config import Config
from redial.render import render
from redial.tsql import split_batches
from redial_broker.engine.switches import given
from redial_broker.instance.instance import Instance
from redial_lab.explore.scenario import Scenario
from redial_lab.explore.search import Limits, Result, search
from redial_lab.explore.world import World
from redial_lab.proof.audit_setups import DATABASE, deployed
from redial_lab.proof.case_scenario import scenario
from redial_lab.proof.cases import CASES, PROCEDURES, CaseText, cases_of
from redial_lab.proof.kept_searches import Remembered, Search, digest, hunt_digest
from redial_lab.proof.mutate import Mutation, mutations
from redial_lab.proof.outcomes import outcome, waits
from redial_lab.proof.setups import Setup
from redial_lab.proof.statements_reached import Reached, Watch

if TYPE_CHECKING:
    Answer = TypeVar("Answer")

OTHERWISE = "an outcome the shipped text never comes to"
TRANSITIONS = 6_000
"""Bound of the search of one setup with a mutant in it."""

SHIPPED = 60_000
"""The same of the shipped text."""

DEPTH = 1_000
"""Steps after which a mutant has no end; the shipped text comes to its end before."""

PROCESSOR = 60
"""Seconds of a processor after which a search has no end: a loop inside one step."""

TARGET_OFF = "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;"
MODULE = re.compile(r"\d\d_(?:\d\d_)?(\w+)\.procedure\.sql")


@dataclass(frozen=True, slots=True)
class Base:
    """An installation, never changed in this process."""

    instance: Instance
    made: Mapping[str, Mutation]
    """Every mutant of its procedures."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """The search of a case without a mutant."""

    result: Result
    outcomes: frozenset[str]
    """All of them where it was exhausted."""
    waits: frozenset[str]
    """Who waited for what in any state."""
    reached: Mapping[str, Reached]


@dataclass(slots=True)
class Case:
    """A setup to hunt in."""

    key: str
    """Its name in ``cases``."""
    scenario: Scenario
    """Without a mutant."""
    base: Base
    """What is installed."""
    first: tuple[str, ...] = ()
    """T-SQL after that."""
    digest: str = ""
    """Of what is installed and asked."""
    searched: Shipped | None = None
    lock: Lock = field(default_factory=Lock)

    def shipped(self) -> Shipped:
        """Search it as shipped, once. Raises ValueError when a claim is violated or it has no end:
        then each mutant of it would be found for that.
        """
        with self.lock:
            if self.searched is None:
                answer = forked(lambda: _as_shipped(self), PROCESSOR)
                if isinstance(answer, str):
                    raise ValueError(f"setup {self.key}: {answer}")
                violated = ", ".join(answer.result.violations)
                if violated:
                    raise ValueError(f"setup {self.key} as shipped: {violated}")
                if answer.result.bounded_by.startswith("depth"):
                    raise ValueError(f"setup {self.key} as shipped: no end within {DEPTH} steps")
                self._itself(answer)
                self.searched = answer
            return self.searched

    def _itself(self, shipped: Shipped) -> None:
        """The shipped text put into its own place is not found. Raises ValueError when it is: then
        the case tells orders apart, of handles say, that mean nothing.
        """
        procedure = next(name for name in sorted(shipped.reached) if name in PROCEDURES)
        again = forked(
            lambda: _mutated(self, shipped.reached[procedure].source, shipped), PROCESSOR
        )
        found = again if isinstance(again, str) else ", ".join(again.violations)
        if found:
            raise ValueError(f"setup {self.key} is not the same twice: {found}")

    def reaches(self, mutation: Mutation) -> bool:
        """Whether some order of steps comes to the changed statement."""
        reached = self.shipped().reached.get(mutation.procedure)
        return reached is not None and reached.ran(reached.source, mutation.start, mutation.end)


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a mutant."""

    name: str
    line: int = 0
    case: str = ""
    claim: str = ""
    """case, claim: '' when no case finds it."""
    states: int = 0
    transitions: int = 0
    steps: int = 0
    """Of its trace as it was met."""
    seconds: float = 0.0
    """states, transitions, seconds (of a processor): of the search that found it, or of all searches
    for it."""
    searched: tuple[str, ...] = ()
    """In the cases some order of steps of which comes to its statement."""
    engine: str = ""
    """Digest of the engine that found all of it; of several, joined by a plus."""


# ---------------------------------------------------------------------- preparing
def prepare(only: tuple[str, ...] = ()) -> dict[str, Case]:
    """The cases; each is searched as it is when it is first needed. only: these."""
    bases: dict[str, Base] = {}
    cases = {}
    for key, text in CASES.items():
        if only and key not in only:
            continue
        plain, config = scenario(text)
        shared = _shared(text, plain, config)
        if shared not in bases:
            with given(plain.switches):
                bases[shared] = Base(
                    deployed(config, rcsi="isolation=rcsi" in text.setup), generated(config)
                )
        first = text.first + ((TARGET_OFF,) if "lifetimes=1" in text.setup else ())
        asked = digest(_installed(shared, config), repr(text))
        cases[key] = Case(key, plain, bases[shared], first, asked)
    gc.collect()
    gc.freeze()
    return cases


def _shared(text: CaseText, plain: Scenario, config: Config) -> str:
    """What decides which installation a case is searched on."""
    rcsi = "isolation=rcsi" in text.setup
    return f"{config.model_dump_json()} {rcsi} {dict(plain.switches)}"


def _installed(shared: str, config: Config) -> str:
    """A digest of all of an installation."""
    return digest(shared, *render(config).values())


def texts() -> Callable[[str, str], str]:
    """The digest of (mutant, case) as the text is today; '' where there is none. Nothing is
    installed.
    """
    there: dict[str, tuple[str, Mapping[str, Mutation]]] = {}
    found = {}
    for key, text in CASES.items():
        plain, config = scenario(text)
        shared = _shared(text, plain, config)
        if shared not in there:
            there[shared] = _installed(shared, config), generated(config)
        found[key] = digest(there[shared][0], repr(text)), there[shared][1]

    def of(name: str, case: str) -> str:
        asked, made = found.get(case, ("", {}))
        return digest(asked, made[name].text) if name in made else ""

    return of


def generated(config: Config) -> dict[str, Mutation]:
    """Every mutant of ``PROCEDURES`` as this configuration has them, by name.

    A name that the small audit configuration has no mutant of says what is different here:
    usp_AcquireConversation@pool.where.it.
    """
    made, plain = _mutants(config.model_dump_json()), Setup().config
    usual = _mutants(plain.model_dump_json())
    tag = _difference(config, plain)
    found: dict[str, Mutation] = {}
    for procedure, mutants in made.items():
        there = usual.get(procedure, ())
        known = {each.name for each in there}
        alike = [each.kind for each in mutants] == [each.kind for each in there]
        for number, each in enumerate(mutants):  # a number or a name in it may be another
            name = there[number].name if alike else each.name
            found[name if name in known else name.replace(".", f"@{tag}.", 1)] = each
    return found


def _difference(config: Config, plain: Config) -> str:
    """The choices of a configuration that are not the small audit one's, in a word."""
    names = ("key", "recycle", "order", "delivery", "timer_strategy")
    chosen = [
        getattr(config.conversation, name)
        for name in names
        if getattr(config.conversation, name) != getattr(plain.conversation, name)
    ]
    if not config.traits.has_rows:
        chosen.remove("never")  # nothing else is allowed
    return "+".join(chosen)


@cache
def _mutants(config: str) -> Mapping[str, tuple[Mutation, ...]]:
    """Of each procedure."""
    found = {}
    for name, text in render(Config.model_validate_json(config)).items():
        module = MODULE.fullmatch(name)
        if module is not None and module[1] in PROCEDURES:
            sql = next(sql for sql, _, _ in split_batches(text) if "CREATE OR ALTER" in sql)
            found[module[1]] = tuple(mutations(sql))
    return found


# ---------------------------------------------------------------------- searching
def _as_shipped(case: Case) -> Shipped:
    watch, plain = Watch(case.base.instance), _with(case, "")
    outcomes: set[str] = set()
    waited: set[str] = set()

    def at_the_end(world: World) -> list[str]:
        outcomes.add(outcome(world))
        return plain.at_the_end(world)

    def on_every_state(world: World) -> list[str]:
        waited.update(waits(world))
        return plain.on_every_state(world)

    noting = replace(plain, at_the_end=at_the_end, on_every_state=on_every_state)
    result = search(noting, Limits(transitions=SHIPPED, depth=DEPTH, first=True))
    return Shipped(result, frozenset(outcomes), frozenset(waited), watch.reached())


def _mutated(case: Case, text: str, shipped: Shipped) -> Result:
    plain = _with(case, text)
    if not shipped.result.ended:  # there may be more outcomes and waits than are known
        return search(plain, Limits(transitions=TRANSITIONS, depth=DEPTH, first=True))

    def at_the_end(world: World) -> list[str]:
        names = plain.at_the_end(world)
        return names if outcome(world) in shipped.outcomes else [*names, OTHERWISE]

    def on_every_state(world: World) -> list[str]:
        names = plain.on_every_state(world)
        return names + [
            f"{each}: nobody does with the shipped text"
            for each in waits(world)
            if each not in shipped.waits
        ]

    comparing = replace(plain, at_the_end=at_the_end, on_every_state=on_every_state)
    return search(comparing, Limits(transitions=TRANSITIONS, depth=DEPTH, first=True))


def _with(case: Case, text: str) -> Scenario:
    """The scenario of a case, on an instance with that text of a procedure; '': as it is."""
    instance = case.base.instance
    for batch in (*([text] if text else []), *case.first):
        session = instance.connect(DATABASE)
        session.execute(batch).ok()
        session.close()
        instance.run()
    # A witness is a function, which no process can send to another; a hunt asks for none.
    return replace(case.scenario, prepare=lambda: instance, witnesses=())


# ---------------------------------------------------------------------- hunting
def hunt(name: str, cases: Mapping[str, Case], remembered: Remembered | None = None) -> Found:
    """Look for one mutant in the cases of its procedure until one finds it.

    remembered: searches whose results still count are not done again; what this hunt gave is kept
    there. The case that found the mutant last time comes first.
    """
    known = remembered or Remembered(None)
    searches: dict[str, Search] = {}
    line = 0
    for key in sorted(cases_of(name), key=lambda key: key != known.finder(name)):
        case = cases.get(key)
        mutation = cast("Mutation | None", case and case.base.made.get(name))
        if case is None or mutation is None:
            continue
        line = mutation.line
        mark = _mark(case, mutation)
        found = known.search(name, key, mark) or _searched(case, mutation, mark)
        searches[key] = found
        if found.claim:
            searches = {key: found}
            break
    known.keep(name, searches)
    return summed(name, searches, line)


def counts(name: str, cases: Mapping[str, Case], remembered: Remembered) -> bool:
    """Whether all that is remembered of a mutant still counts, and nothing is missing."""
    searches = remembered.found.get(name)
    if searches is None:
        return False
    wanted = (
        list(searches)
        if any(each.claim for each in searches.values())
        else [key for key in cases_of(name) if key in cases and name in cases[key].base.made]
    )
    return all(
        remembered.search(name, key, _mark(cases[key], cases[key].base.made[name]))
        for key in wanted
        if key in cases
    )


def _mark(case: Case, mutation: Mutation) -> str:
    return f"{hunt_digest()}-{digest(case.digest, mutation.text)}"


def summed(name: str, searches: Mapping[str, Search], line: int = 0) -> Found:
    """What the searches for a mutant come to."""
    ran = {key: each for key, each in searches.items() if each.ran}
    caught = next(((key, each) for key, each in ran.items() if each.claim), ("", Search("")))
    return Found(
        name,
        line,
        caught[0],
        caught[1].claim,
        sum(s.states for s in ran.values()),
        sum(s.transitions for s in ran.values()),
        caught[1].steps,
        sum(s.seconds for s in ran.values()),
        tuple(ran),
        "+".join(sorted({each.engine for each in searches.values()})),
    )


def _searched(case: Case, mutation: Mutation, mark: str) -> Search:
    """Search a case for a mutant."""
    if not case.reaches(mutation):
        return Search(mark, False)
    shipped = case.shipped()
    answer, seconds = measured(lambda: _mutated(case, mutation.text, shipped), PROCESSOR)
    if isinstance(answer, str):  # what was to be there before the search did not come
        return Search(mark, claim=_said(answer), seconds=round(seconds, 2))
    found = Search(mark, True, "", answer.states, answer.transitions, 0, round(seconds, 2))
    if answer.violations:
        claim, violation = next(iter(answer.violations.items()))
        return replace(found, claim=claim, steps=len(violation.path))
    if answer.bounded_by.startswith("depth"):
        return replace(found, claim=f"L3 no end within {DEPTH} steps", steps=answer.deepest)
    return found


def _said(failure: str) -> str:
    """A search that failed, as the page names it. Raises ValueError for a failure of our own."""
    kind, _, said = failure.partition(": ")
    if kind == "AssertionError":
        return f"before the search: {said[:50]}"
    if failure.startswith("no end"):
        return f"L3 {failure}"
    raise ValueError(failure)


def forked(work: Callable[[], Answer], limit: float) -> Answer | str:
    """What work returns, from a process of its own; a text when it fails or takes too long.

    limit: seconds of a processor.
    """
    return measured(work, limit)[0]


def measured(work: Callable[[], Answer], limit: float) -> tuple[Answer | str, float]:
    """As ``forked``, and the seconds of a processor that took."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receiving)
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
            try:
                said = pickle.dumps(cast("Answer | str", work()))
            except BaseException as error:
                said = pickle.dumps(f"{type(error).__name__}: {error}")
            with os.fdopen(sending, "wb") as pipe:
                pipe.write(said)
        finally:
            os._exit(0)
    os.close(sending)
    heard: list[Answer | str] = []
    with os.fdopen(receiving, "rb") as pipe, suppress(EOFError):
        heard.append(pickle.load(pipe))
    _, status, usage = os.wait4(child, 0)
    killed = os.waitstatus_to_exitcode(status) in (-signal.SIGXCPU, -signal.SIGKILL)
    why = f"no end within {limit:.0f} s of a processor" if killed else f"no answer, {status}"
    return heard[0] if heard else why, usage.ru_utime + usage.ru_stime
