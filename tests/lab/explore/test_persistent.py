"""The search that leaves out orders of independent steps misses nothing; its parts, one by one."""

from __future__ import annotations

import random
import re
import sys
from itertools import combinations

import pytest

from redial.paths import ROOT
from redial_broker.engine.journal import Part
from redial_broker.engine.state import MADE, fields_of, plain
from redial_broker.engine.storage import Index
from redial_lab.explore import Client, Limits, Scenario, World, search
from redial_lab.explore.diverged import Diverged
from redial_lab.explore.effects import digests
from redial_lab.explore.footprints import Footprint, Lookout
from redial_lab.explore.persistent import Entry, Persistent, persistent
from redial_lab.explore.search_report import report
from redial_lab.explore.user_files import load
from redial_lab.proof.mutants import HISTORY
from redial_lab.proof.setups import Setup
from tests.lab.explore.tables import add, tables
from tests.sampling import full

EXAMPLES = ROOT / "sql" / "examples"


def scenario(*texts: str, watched=lambda world: None) -> Scenario:
    return Scenario(
        "tables",
        lambda: tables("ab", 3),
        tuple(Client(f"T{n}", (text,), "d") for n, text in enumerate(texts, 1)),
        watched=watched,
    )


GUID = re.compile(r"[0-9A-F]{8}(-?[0-9A-F]{4}){3}-?[0-9A-F]{12}")
"""In a value, and in an index's key, where the groups stand in the order that decides."""


def outcome(world: World) -> tuple[str, ...]:
    """A state at rest but for the names of conversations: an activated task draws them from a
    stream with its number, and how many tasks came before it counts for no state. So rows that
    stand in the order of such names are sorted without them, and what is made once is shown itself:
    its word would hide a name.
    """
    found = []
    for part in (*world.instance.parts(), world.progress, world.incidents):
        content = part.content()
        if part.shown_once is not None:
            content = (made_once(part), *content[1:])
        if isinstance(part, Index):
            name, rows, *rest = content
            content = name, sorted(GUID.sub("?", repr(row)) for row in rows), rest
        if content is not None:
            found.append(GUID.sub("?", repr(content)))
    return tuple(sorted(found))


def made_once(part: Part) -> list:
    """What never changes of a part, as far as it counts."""
    counts = [
        (name, field)
        for name, field in fields_of(type(part)).items()
        if field.how == MADE and not field.hidden and not field.when
    ]
    return [
        field.of(part) if field.of else (field.show or plain)(getattr(part, name))
        for name, field in counts
    ]


def outcomes(how, made: Scenario) -> tuple[set[tuple], set[str], int, bool]:
    """States at rest, violations, states in all, whether all was seen."""
    seen: set[tuple] = set()
    check = made.at_the_end

    def noted(world: World) -> list[str]:
        seen.add(outcome(world))
        return check(world)

    made.at_the_end = noted
    result = how(made, Limits(transitions=None, depth=None))
    return seen, set(result.violations), result.states, result.ended


def test_rows_of_one_table_are_apart_and_one_order_is_enough():
    found = persistent(scenario(add("a", 1) + add("b", 1), add("a", 2) + add("b", 2), add("a", 3)))
    assert found.ended
    assert (found.states, found.transitions) == (11, 10), "five statements, each with its commit"
    assert (
        search(scenario(add("a", 1) + add("b", 1), add("a", 2) + add("b", 2), add("a", 3))).states
        == 5 * 5 * 3
    )


def test_steps_on_one_row_are_searched_in_every_order():
    both = scenario(add("a", 1), "UPDATE dbo.a SET n = n * 2 + 7 WHERE id = 1;")
    assert len(outcomes(persistent, both)[0]) == 2


def test_a_scan_depends_on_a_row_that_is_not_there_yet():
    made = scenario(
        "DECLARE @n int = (SELECT COUNT(*) FROM dbo.a); UPDATE dbo.b SET n = @n WHERE id = 1;",
        "INSERT dbo.a VALUES (9, 9);",
    )
    assert len(outcomes(persistent, made)[0]) == 2


def test_where_nobody_knows_what_the_checks_look_at_nothing_is_left_out():
    texts = add("a", 1), add("b", 1)
    assert persistent(scenario(*texts, watched=None)).states == search(scenario(*texts)).states == 9


def test_what_the_checks_look_at_is_seen_in_every_combination():
    """Two rows that differ between two independent steps, whichever comes first."""

    def values(world: World) -> tuple:
        found = world.instance.server.database("d").resolve("dbo", "a").rows.entries.values()
        return tuple(row[1] for row in found)

    seen: set[tuple] = set()
    made = scenario(add("a", 1), add("a", 2), watched=values)
    made.on_every_state = lambda world: seen.add(values(world)) or []
    persistent(made)
    assert seen == {(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)}


SETUPS = [
    "senders=1 warm=0 readers=2 firings=0",
    "senders=1 warm=0 firings=0 faults=kill",
    "senders=2 warm=0 firings=0 target_readers=1",
    "senders=1 firings=0 faults=error_message",
    "senders=1 firings=1 lifetimes=1",
    "senders=1 firings=0 faults=pause+cancel",
    "senders=2 key=application firings=0",
    "senders=2 isolation=rcsi firings=0 hint=none",
]
"""Small ones, with every kind of step."""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("text", SETUPS)
def test_it_finds_what_the_whole_search_finds(text):
    whole, violations, states, exhausted = outcomes(search, Setup.parse(text).scenario())
    fewer, same, less, too = outcomes(persistent, Setup.parse(text).scenario())
    assert exhausted and too
    assert (fewer, same) == (whole, violations)
    assert less <= states


def diverging(monkeypatch, at: str) -> list[str]:
    """Steps of a statement on a table turn out to depend on more than they read, once."""
    real, told = Persistent._remembered, []

    def remembered(self, entry, bit, step):
        place = self._text_place(step)
        if place is not None and not self.opaque:
            frame = self.world.instance.sessions[step.who].frames[-1]
            info = frame.program.infos[frame.pc]
            node = info.node
            if node is not None and at in frame.program.source.text[node.pos : node.end]:
                told.append(at)
                raise Diverged("it did otherwise")
        real(self, entry, bit, step)

    monkeypatch.setattr(Persistent, "_remembered", remembered)
    return told


def test_where_a_step_depends_on_more_than_it_read_that_part_is_not_reduced(monkeypatch):
    """It is tried at every moment; those of other places are reduced as ever."""
    texts = add("a", 1), add("b", 1) + add("b", 1), add("b", 2) + add("b", 2)
    whole = outcomes(search, scenario(*texts))
    told = diverging(monkeypatch, "dbo.a SET")
    made = scenario(*texts)
    found = persistent(made)
    assert told and found.fewer and found.ended
    assert found.opaque == ("adhoc, line 1",)
    assert found.transitions < search(scenario(*texts)).transitions == 170
    assert outcomes(persistent, scenario(*texts))[0] == whole[0]
    assert any("not reduced at 1 places" in line for line in report(made, found))


def test_where_that_does_not_help_the_whole_graph_is_searched_and_it_says_so(monkeypatch):
    def remembered(self, entry, bit, step):
        raise Diverged("it did otherwise after the same reads")

    monkeypatch.setattr(Persistent, "_remembered", remembered)
    monkeypatch.setattr(sys.modules[Persistent.__module__], "MOST_OPAQUE", 1)
    made = scenario(add("a", 1) + add("b", 1), add("a", 2) + add("b", 2))
    found, whole = persistent(made), search(made)
    assert (found.states, found.fewer, found.opaque) == (whole.states, False, ())
    assert "after the same reads" in found.whole_because
    assert any("the whole graph, not a reduced one" in line for line in report(made, found))


def test_what_no_cell_shows_is_searched_whole():
    reads = "DECLARE @n int = (SELECT MAX(cntr_value) FROM sys.dm_os_performance_counters);"
    found = persistent(scenario(add("a", 1), reads))
    assert not found.fewer and "counters" in found.whole_because


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("number", sorted(HISTORY))
def test_it_finds_the_mistakes_of_history(number):
    listed = HISTORY[number]
    found = persistent(listed.scenario(), Limits(transitions=5_000, until=listed.violation))
    assert listed.violation in found.violations


@pytest.mark.parametrize("name", ["forum/transaction", "forum/autocommit", "tickets/mended"])
def test_it_finds_what_the_whole_search_finds_in_a_users_file(name):
    ends = [outcomes(how, load(EXAMPLES / f"{name}.toml")[0])[:2] for how in (search, persistent)]
    assert ends[0] == ends[1]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "text",
    [
        "senders=2 readers=2 firings=1 lifetimes=1 faults=kill",
        "senders=2 isolation=rcsi key=application",
        "senders=2 faults=cancel+lock_timeout+reader_restart",
    ],
)
def test_steps_it_calls_independent_commute(text):
    """On random ways: both orders lead to the same state, and each does there what it did here."""
    world = World(Setup.parse(text).scenario())
    look, dice, origin, compared = Lookout(world), random.Random(text), world.journal.mark(), 0
    for _ in range(12 if full() else 4):
        for _ in range(60):
            steps = world.steps()
            if not steps:
                break
            prints = {step: _print(world, look, step) for step in steps}
            for one, two in combinations(steps, 2):
                if one.who == two.who or prints[one].touches(prints[two]):
                    continue
                ends = {_both(world, *order) for order in ((one, two), (two, one))}
                assert len(ends) == 1 and None not in ends, f"{one} and {two}"
                compared += 1
            world.journal.mark()
            _take(look, dice.choice(steps))
        world.journal.rewind(origin)
    assert compared > 50


def _print(world: World, look: Lookout, step) -> Footprint:
    mark = world.journal.mark()
    found = _take(look, step)
    world.journal.rewind(mark)
    return found


def _take(look: Lookout, step) -> Footprint:
    return look.take(step, look.foresee(step) or look.watch(step))


def _both(world: World, one, two) -> bytes | None:
    mark = world.journal.mark()
    world.take(one)
    world.journal.mark()
    found = None
    if two in world.steps():
        world.take(two)
        found = world.hash()
    world.journal.rewind(mark)
    return found


def test_reads_that_are_known_are_those_that_are_seen():
    """What the tree of known reads says is what a look-out sees, step by step."""
    world = World(Setup.parse("senders=2 readers=2 lifetimes=1").scenario())
    look, dice, origin, known = Lookout(world), random.Random(5), world.journal.mark(), 0
    for _ in range(30):
        while steps := world.steps():
            step = dice.choice(steps)
            found = look.foresee(step)
            if found is not None:
                assert look.watch(step) == found
                known += 1
            world.journal.mark()
            _take(look, step)
        world.journal.rewind(origin)
    assert known > 100


class Doubting(Persistent):
    """Takes every step of which it is known what it will do, to see that it does it."""

    foreseen = 0

    def _take(self, entry: Entry, bit: int) -> None:
        world, step = self.world, entry.steps[bit]
        reads = self.look.foresee(step)
        effect = reads.effect if reads is not None else None
        will = effect.leads_to(entry.digests) if effect is not None else None
        if will is not None:
            mark = world.journal.mark()
            footprint = self.look.take(step, reads)
            visible = self.watched(world) != entry.watched
            if visible:
                footprint |= Footprint(self.visible, self.visible, 0)
            assert (digests(world), visible) == (will, effect.visible)
            assert self.futures.print_list[effect.step][1] == footprint
            disabled = self._disabled(entry, bit)
            assert effect.places[entry.digests.layout].disabled & entry.everybody == disabled
            world.journal.rewind(mark)
            self.foreseen += 1
        super()._take(entry, bit)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    "text",
    [
        "senders=2 readers=2 lifetimes=1 isolation=rcsi",
        "senders=2 readers=2 firings=1 faults=kill+cancel",
    ],
)
def test_a_step_does_what_it_is_known_to_do(text):
    found = Doubting(
        World(Setup.parse(text).scenario()), Limits(transitions=40_000 if full() else 3_000)
    )
    found.run()
    assert found.foreseen > 500


def test_two_states_are_one_by_their_digests_where_they_are_by_their_hash():
    world = World(Setup.parse("senders=2 readers=2 lifetimes=1").scenario())
    dice, origin, words = random.Random(7), world.journal.mark(), {}
    for _ in range(20):
        while steps := world.steps():
            words.setdefault(world.hash(), set()).add(digests(world).key())
            world.journal.mark()
            world.take(dice.choice(steps))
        world.journal.rewind(origin)
    assert {len(keys) for keys in words.values()} == {1}
    assert len(set().union(*words.values())) == len(words) > 500
