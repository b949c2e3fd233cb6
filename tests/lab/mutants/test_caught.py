"""Every known-bad variant of sql/mutants is caught: by a search, by directed steps, or by the tests
named here. Without that, green would mean little (peers D.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from redial.config import Config
from redial.paths import ROOT, SQL
from redial.render import mutant_names
from redial_lab.explore import Limits, Scenario, search
from redial_lab.explore.checks import all_of, no_deadlock
from redial_lab.proof.audit_setups import article, deployed, send, two_phase
from redial_lab.proof.audit_setups import small_config as small
from redial_lab.proof.mutants import HISTORY, find_listed
from redial_lab.proof.strategies import dying, hinted, lookup, no_sender_victim
from tests.product.seeds.lab import END_OF_STREAM, EVENT, RECYCLE_AFTER, Lab

GATE = "UPDATE audit.Gate SET IsOpen = {};"
LOST, AFTER = "acknowledged message lost", "message after EndOfStream"
FAR = 4_000
"""Transitions within which each mistake of history is found."""


def finds(scenario: Scenario, name: str) -> None:
    """The search of the scenario meets that violation."""
    result = search(scenario, Limits(until=name, transitions=60_000))
    print(result)
    assert name in result.violations, scenario.name


def under(name: str, scenario: Scenario) -> Scenario:
    """A scenario of the small configuration with a mutant's procedures."""
    return replace(
        scenario, name=f"{name}: {scenario.name}", prepare=lambda: deployed(small(), mutant=name)
    )


# ---------------------------------------------------------------------- by search
def no_lock_hint() -> None:
    finds(under("no_lock_hint", two_phase(cold=False)), LOST)


def holdlock() -> None:
    scenario = lookup("updlock", dead=True, firings=0)
    finds(
        replace(scenario, prepare=lambda: deployed(hinted("updlock"), mutant="holdlock")),
        "deadlock",
    )


def autocommit_send() -> None:
    finds(under("autocommit_send", two_phase(cold=False)), AFTER)


def one_transaction() -> None:
    finds(under("one_transaction", two_phase(in_transaction=True, cold=False)), "deadlock")


def handle_index_first() -> None:
    finds(dying("handle_index_first"), "deadlock")


def article_high_priority() -> None:
    """peers D.3, 5: the sender dies, the reverse of what seed 002 asks for."""
    scenario = replace(
        article(in_transaction=True), on_every_state=all_of(no_deadlock, no_sender_victim)
    )
    finds(under("article_high_priority", scenario), "a sender is the victim")


# ---------------------------------------------------------------------- by directed steps
def busy_row(mutant: str | None):
    """A lab and a caller who keeps R in an open transaction, without G: his send was refused."""
    lab = Lab(mutant=mutant)
    caller = lab.connect()
    caller.execute(send("01")).ok()
    lab.run(GATE.format(0))
    caller.execute(f"BEGIN TRANSACTION; {send('02')}").error()
    lab.run(GATE.format(1))
    return lab, caller


def end_of_stream_before_delete() -> None:
    """EndOfStream is out, the row is busy, and its owner sends behind it: what is not in the
    target's batch with EndOfStream is lost."""
    for name, behind in ((None, 0), ("end_of_stream_before_delete", 1)):
        lab, caller = busy_row(name)
        lab.target_activation("OFF")
        lab.advance(RECYCLE_AFTER + 1)
        caller.execute(f"{send('02')} COMMIT TRANSACTION;").ok()
        lab.target_activation("ON")
        lab.advance(60)
        types = lab.landed_types()
        assert types[types.index(END_OF_STREAM) :].count(EVENT) == behind


def no_rearm() -> None:
    """A busy row is not asked again."""
    for name, ended in ((None, True), ("no_rearm", False)):
        lab, caller = busy_row(name)
        lab.advance(RECYCLE_AFTER + 1)
        caller.execute("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;").ok()
        lab.advance(10 * RECYCLE_AFTER)
        assert (END_OF_STREAM in lab.landed_types()) is ended


def same_dead_handle() -> None:
    for name, numbers in ((None, []), ("same_dead_handle", [8426])):
        lab = Lab(mutant=name)
        lab.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
        lab.send(b"1")
        lab.run(f"END CONVERSATION '{lab.handles(1)[0]}' WITH CLEANUP;")
        assert [m.number for m in lab.call_send(b"2").errors] == numbers


def dead_handle_dooms_caller() -> None:
    """Threads ST#72 to #229: a dead handle aborts the user's own statement."""
    for name, survives in ((None, True), ("dead_handle_dooms_caller", False)):
        lab = Lab(mutant=name)
        lab.run("CREATE TABLE dbo.Mine (n int NOT NULL);")
        lab.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
        lab.send(b"1")
        lab.run(f"END CONVERSATION '{lab.handles(1)[0]}' WITH CLEANUP;")
        caller = lab.session
        caller.execute(
            f"SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT dbo.Mine VALUES (1); "
            f"{send('02')} COMMIT TRANSACTION;"
        )
        caller.execute("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET XACT_ABORT OFF;")
        assert (lab.rows("SELECT COUNT(*) FROM dbo.Mine;") == [(1,)]) is survives


def cleanup_in_activation() -> None:
    lab = Lab(mutant="cleanup_in_activation")
    lab.send(b"1")
    lab.advance(10 * RECYCLE_AFTER)
    assert [state for side, state in lab.endpoints() if side == "initiator"] != []


def minutes_for_seconds() -> None:
    """peers A.1: a timeout in seconds applied as minutes, 60 hours instead of one."""
    for name, ended in ((None, True), ("minutes_for_seconds", False)):
        lab = Lab(mutant=name)
        lab.send(b"1")
        lab.advance(59 * RECYCLE_AFTER)
        assert (END_OF_STREAM in lab.landed_types()) is ended


def stub_activation() -> None:
    """peers D.3, 16; rusanu.com on queue monitors: finishing the procedure is not enough."""
    lab = Lab(mutant="stub_activation")
    lab.send(b"1")
    lab.advance(RECYCLE_AFTER + 60)
    state = (
        "SELECT m.state FROM sys.dm_broker_queue_monitors AS m INNER JOIN sys.service_queues "
        "AS q ON q.object_id = m.queue_id WHERE q.name = N'InitiatorQueue';"
    )
    assert lab.rows(state) == [("NOTIFIED",)]
    lab.deploy()
    lab.advance(10 * RECYCLE_AFTER)
    assert END_OF_STREAM not in lab.landed_types(), "the fixed procedure is never started"
    for status in ("OFF", "ON"):
        lab.run(f"ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = {status});")
    lab.advance(60)
    assert lab.endpoints() == [("target", "CLOSED")]


@pytest.mark.parametrize(("mutant", "free"), [(None, True), ("row_kept", False)])
def test_a_slot_of_a_pool_is_free_again_when_its_dialog_has_died(mutant, free):
    """peers D.3, 13: servicebroker-queues keeps a pool's row after an error, for ever."""
    data = small().model_dump(by_alias=True, mode="json")
    data["conversation"]["key"], data["pool"]["size"] = "pool", 1
    lab = Lab(Config.model_validate(data), mutant=mutant)
    lab.target_activation("OFF")
    lab.send(b"x")
    lab.end_target()
    lab.instance.run()
    [(begun,)] = lab.table("SessionConversations", "BegunUtc")
    assert (begun is None) is free


# ---------------------------------------------------------------------- caught elsewhere
def elsewhere(name: str, *paths: str) -> Callable[[], None]:
    """Those test files name the mutant."""

    def check() -> None:
        for path in paths:
            assert name in (ROOT / path).read_text(encoding="utf-8"), path

    return check


CAUGHT: dict[str, Callable[[], None]] = {
    "article": elsewhere("article(in_transaction", "tests/lab/proof/test_article.py"),
    "drain_reads_past": elsewhere("drain_reads_past", "tests/lab/proof/test_drain.py"),
    "drain_looks_without_lock": elsewhere(
        "drain_looks_without_lock", "tests/lab/proof/test_drain.py"
    ),
    "reader_never_leaves": elsewhere('caught("ten-days"', "tests/lab/scenarios/test_ten_days.py"),
    "initiator_ends_first": elsewhere(
        "initiator_ends_first", "tests/product/seeds/test_closed_conversations.py"
    ),
    "error_not_drained": elsewhere(
        "error_not_drained", "tests/product/seeds/test_closed_conversations.py"
    ),
    **{
        name: elsewhere(name, "tests/product/seeds/test_resend_mutants.py")
        for name in (
            "resend_one_byte",
            "resend_out_of_order",
            "end_before_resend",
            "end_blindly",
            "error_not_ended",
            "row_kept",
        )
    },
    **{
        check.__name__: check
        for check in (
            no_lock_hint,
            holdlock,
            autocommit_send,
            one_transaction,
            end_of_stream_before_delete,
            handle_index_first,
            article_high_priority,
            no_rearm,
            same_dead_handle,
            dead_handle_dooms_caller,
            cleanup_in_activation,
            minutes_for_seconds,
            stub_activation,
        )
    },
}


@pytest.mark.parametrize("name", mutant_names(SQL))
def test_a_mutant_is_caught(name):
    check = CAUGHT.get(name)
    if check is not None:
        check()
        return
    naming = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__) and f'"{name}"' in path.read_text(encoding="utf-8")
    ]
    assert naming, "no test asks for it: write one, or put a check into CAUGHT"


def test_every_mistake_of_history_has_its_mutant():
    assert list(HISTORY) == list(range(1, 17))
    assert {listed.mutant for listed in HISTORY.values()} <= set(mutant_names(SQL))


@pytest.mark.parametrize("number", HISTORY)
def test_every_mistake_of_history_is_found_by_a_search(number):
    hit = find_listed(number, FAR)
    print(hit)
    assert hit.violation, f"{hit.mutant}: {hit.others} in {hit.transitions} transitions"


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("number", HISTORY)
def test_without_the_mistake_that_search_finds_nothing(number):
    listed = HISTORY[number]
    result = search(listed.shipped(), Limits(transitions=FAR))
    assert not result.violations
