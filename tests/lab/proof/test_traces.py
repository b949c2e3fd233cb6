"""What has been fought over since 2007, as scripts for query windows that a server's parser takes.

Each script is played on the embedded broker by as many sessions as it has windows, and meets the
same violation.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache

import pytest

from redial.tsql import parse_script, split_batches
from redial_broker.instance.instance import Instance
from redial_lab.explore import Limits, Scenario, search
from redial_lab.explore.play import play
from redial_lab.explore.replay_words import decode
from redial_lab.explore.shorten import readable
from redial_lab.explore.trace import record
from redial_lab.explore.trace_files import evidence
from redial_lab.explore.windows import script
from redial_lab.proof.audit_setups import accounted, article, callers, deployed, small_config
from redial_lab.proof.comparators import forum_aged, shared_dialog
from redial_lab.proof.setups import Setup
from redial_lab.proof.strategies import strategy
from tests import oracle


def one_caller_in_autocommit():
    """One session with a dialog: SELECT, then the reader's whole run, then SEND."""
    clients, bodies = callers(cold=False)
    return replace(article(in_transaction=False), clients=clients, at_the_end=accounted(bodies))


def stopped_between(scenario: Scenario) -> Scenario:
    """Nobody comes in inside a statement, where no window can stop."""
    return replace(scenario, statements_atomic=True)


def off_at_once(scenario: Scenario) -> Scenario:
    """The other value of F-485: a script for windows has none for the task that switches it off."""
    switches = {"poisoned_queue_goes_off": "at once"}
    return replace(
        scenario, prepare=lambda: deployed(small_config("lock_timeout"), switches=switches)
    )


SHOWN = {
    "seed 002": (lambda: article(in_transaction=True), "deadlock", 2),
    "lost message": (one_caller_in_autocommit, "acknowledged message lost", 2),
    "aged in the sender": (
        lambda: stopped_between(forum_aged(in_transaction=True, job=True)),
        "deadlock",
        2,
    ),
    "five rollbacks": (lambda: off_at_once(strategy("lock_timeout")), "queue switched off", 2),
    "two first users": (shared_dialog, "two dialogs", 3),
}


@cache
def shown(name: str):
    """The trace, its script and how many windows that has; nobody changes them."""
    make, violation, windows = SHOWN[name]
    scenario = make()
    result = search(scenario, Limits(until=violation))
    trace = record(scenario, readable(scenario, result.violations[violation]))
    print("\n".join(trace.lines()))
    return trace, script(trace), windows


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", SHOWN)
def test_windows_meet_what_the_search_met(name):
    """The text is T-SQL to our parser, and waits are where the trace waits."""
    trace, made, windows = shown(name)
    parse_script(made.text)
    assert len(made.windows) == windows
    assert made.plan.missing == []
    played = play(made.text, trace.scenario)
    assert trace.violation in played.met
    assert played.left == []
    waits = {
        stop.window for stop in made.plan.stops if stop.blocks and stop.turn < len(made.plan.turns)
    }
    assert waits <= played.waited
    again = decode(trace.scenario, trace.seed)
    assert again.path == tuple(step.step for step in trace.steps)
    assert trace.violation in again.name


@pytest.mark.oracle
def test_microsofts_parser_takes_the_scripts(tmp_path):
    paths = []
    for name in ("seed 002", "five rollbacks"):
        paths.append(tmp_path / f"{name}.sql")
        paths[-1].write_text(shown(name)[1].text, encoding="utf-8")
    oracle.fetched()
    run = oracle.judged(*map(str, paths))
    assert run.returncode == 0, run.stdout + run.stderr


def test_seed_002_is_six_steps_and_the_graph_of_the_seed():
    scenario = article(in_transaction=True)
    found = search(scenario, Limits(until="deadlock")).violations["deadlock"]
    trace = record(scenario, readable(scenario, found))
    assert len(trace.steps) == 6
    standing = {trace.lanes[key].kind: held for key, held in trace.standing.items()}
    assert [lock.kind for lock in standing["client"].locks] == ["KEY"]
    assert str(standing["client"].waits).startswith("X CONVERSATION_GROUP")
    assert str(standing["reader"].waits).startswith("U KEY SessionConversations.PK")
    assert trace.lanes[trace.victim].name == "sender A"


def test_a_trace_in_which_others_come_in_inside_a_statement_has_no_script_and_says_where():
    scenario = forum_aged(in_transaction=True, job=True)
    found = search(scenario, Limits(until="deadlock")).violations["deadlock"]
    made = script(record(scenario, readable(scenario, found)))
    assert "ends inside a statement, where no window can stop" in made.plan.refused
    assert "WINDOW" not in made.text and f"NO SCRIPT: {made.plan.refused}"[:40] in made.text


def test_what_is_installed_first_lies_beside_the_script_and_is_enough(tmp_path):
    """From the two files alone: a new instance, the installation, the windows, the deadlock."""
    scenario = article(in_transaction=True)
    found = search(scenario, Limits(until="deadlock")).violations["deadlock"]
    kept = evidence(scenario, found)
    (path,) = [path for path in kept.save(tmp_path, "seed 002") if path.suffix == ".sql"]
    text, installed = path.read_text("utf-8"), (tmp_path / kept.installed.name).read_text("utf-8")
    assert f"Run {kept.installed.name}" in text
    assert hashlib.sha256(installed.encode()).hexdigest() == kept.installed.sha
    assert kept.installed.sha in text
    parse_script(installed)
    instance = Instance(seed=1)
    session = instance.connect()
    for sql, _, _ in split_batches(installed):
        session.execute(sql).ok()
    session.close()
    assert "deadlock" in play(text, replace(scenario, prepare=lambda: instance)).met


def test_a_trace_in_which_a_lifetime_ends_has_no_script_and_says_why(tmp_path):
    """Windows without that step would meet something else and call it a message from nowhere."""
    scenario = Setup(senders=1, firings=0, lifetimes=1, mutant="end_before_resend").scenario()
    name = "S3 acknowledged message lost"
    kept = evidence(scenario, search(scenario, Limits(until=name)).violations[name])
    assert not kept.met
    assert "ssb.lifetime" in kept.verdict and "cannot be hurried on a server" in kept.verdict
    assert "WINDOW" not in kept.script.text and "NO SCRIPT: step " in kept.script.text
    kept.save(tmp_path, "lifetime")
    assert list(tmp_path.glob("installation-*")) == []
