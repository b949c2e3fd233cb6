"""Trials: nothing is found on the shipped text, the known-bad ones are caught, a story replays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial_lab.commands.torture import torture
from redial_lab.torture.draw import drawn
from redial_lab.torture.plan import Plan
from redial_lab.torture.shrink import fewer, shrunk, story
from redial_lab.torture.tally import Tally
from redial_lab.torture.trial import run
from redial_lab.torture.trials import Order, results
from tests.sampling import full

BOUNDED = (
    "hurried-orders",
    "hurried-etl",
    "hurried-audit-two_databases",
    "pool-timer-conversation-exactly_once-who-hook-batch-signing",
)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", BOUNDED)
def test_the_shipped_text_is_clean(name):
    (one,) = results(Order((name,), seed=21, trials=1, messages=150, trouble=2.0))
    assert one.findings == []
    assert one.counts["ok"] > 60
    assert one.struck


def caught(mutant, name, kinds, seeds, messages=200):
    """The first trial that finds one of these."""
    for seed in seeds:
        outcome = run(drawn(seed, name, mutant, messages, trouble=2.0))
        if kinds & outcome.verdict.kinds:
            return outcome
    raise AssertionError(f"{mutant} was not caught")


def test_the_text_before_copies_is_caught_and_its_story_is_small_and_replays():
    outcome = caught("queue_only", "hurried-audit", {"lost"}, range(11, 20))
    small = shrunk(outcome.plan, {"lost"}, runs=25 if full() else 5)
    assert small.size < outcome.plan.size
    again = run(Plan.from_json(small.to_json()), record=True)
    assert "lost" in again.verdict.kinds
    text = story(again)
    assert "FOUND lost" in text and "COMMIT" in text


def test_the_article_is_caught():
    name = "spid-timer-conversation-at_least_once-anonymous-land-one"
    assert caught("article", name, {"lost", "leaked", "stuck"}, range(9, 20))


def test_fewer_leaves_what_is_needed():
    assert fewer(list(range(40)), lambda kept: {3, 17, 18} <= set(kept)) == [3, 17, 18]
    assert fewer([1, 2, 3], lambda kept: True) == []


def test_a_variant_without_an_acknowledged_message_is_no_success(capsys):
    (one,) = results(Order(("hurried-audit",), seed=1, trials=1, messages=20))
    tally = Tally(("hurried-audit", "hurried-etl"))
    tally.add(one)
    assert "variant hurried-etl" in tally.missed()
    assert "variant hurried-audit" not in tally.missed()
    with pytest.raises(SystemExit) as stop:
        torture(config="hurried-audit,hurried-etl", trials=1, messages=20)
    assert stop.value.code == 1
    assert "without an acknowledged message" in capsys.readouterr().out


def test_a_trial_that_breaks_is_told_and_the_others_go_on():
    order = Order(("hurried-audit",), seed=1, trials=2, messages=20, mutant="no_such_text")
    kinds = [{finding.kind for finding in one.findings} for one in results(order)]
    assert kinds == [{"no verdict"}, {"no verdict"}]


def test_who_was_killed_a_moment_ago_is_not_killed_again():
    """Every KILL of a plan comes three times, at once."""
    plan = drawn(32, "hurried-audit", None, 60, trouble=2.0)
    kills = [event for event in plan.events if "kill" in event.kind]
    outcome = run(replace(plan, events=[*plan.events, *kills, *kills]))
    assert kills and outcome.verdict.findings == []
