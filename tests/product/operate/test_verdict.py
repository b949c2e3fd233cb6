"""The verdict names every fault that is put into a clean run, and only that one."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from redial.operate.evidence import Dialog, Endpoint, Evidence, Row
from redial.operate.verdict import Clients, judge

EVENT, END = "//event", "EndOfStream"


@st.composite
def clean_runs(draw: st.DrawFn) -> tuple[Clients, Evidence]:
    """Callers whose messages all landed in order, on dialogs that all ended."""
    sizes = draw(st.lists(st.integers(2, 8), min_size=1, max_size=4))
    clients, evidence = Clients(), Evidence(frozenset({EVENT}), END)
    streams = []
    for number, size in enumerate(sizes):
        name = f"C{number}"
        clients.sent |= {(number, i) for i in range(size)}
        rows = [Row(name, i, EVENT, (number, i)) for i in range(size)]
        streams.append([*rows, Row(name, size, END)])
        evidence.dialogs.append(Dialog(name, size, True, True))
        evidence.endpoints.append(Endpoint(name, False, "CLOSED", False))
    while any(streams):
        stream = draw(st.sampled_from([s for s in streams if s]))
        evidence.landed.append(stream.pop(0))
    return clients, evidence


def events(evidence: Evidence) -> list[int]:
    return [i for i, row in enumerate(evidence.landed) if row.type == EVENT]


@given(clean_runs())
def test_a_clean_run_has_no_problem_and_counts_everything(run):
    clients, evidence = run
    verdict = judge(clients, evidence)
    assert verdict.clean
    assert verdict.sent == verdict.landed == len(clients.sent)
    assert verdict.dialogs_begun == verdict.recycled == verdict.closed == len(evidence.dialogs)
    assert (verdict.lost, verdict.duplicated, verdict.out_of_order, verdict.leaked) == (0, 0, 0, 0)


@given(clean_runs(), st.data())
def test_a_lost_message_is_counted_and_named(run, data):
    clients, evidence = run
    row = evidence.landed.pop(data.draw(st.sampled_from(events(evidence))))
    verdict = judge(clients, evidence)
    assert verdict.lost == 1
    assert f"client {row.identity[0]} number {row.identity[1]}" in verdict.problems[0]
    assert f"conversation {row.conversation} has no message {row.sequence}" in verdict.problems[1]


@given(clean_runs(), st.data())
def test_a_loss_the_callers_do_not_know_of_shows_as_a_gap(run, data):
    clients, evidence = run
    row = evidence.landed.pop(data.draw(st.sampled_from(events(evidence))))
    clients.sent.discard(row.identity)
    verdict = judge(clients, evidence)
    assert verdict.lost == 1
    assert verdict.problems[0].startswith("missing:")


def test_a_message_sent_after_end_of_stream_is_lost_without_any_gap_in_what_landed():
    clients = Clients({(0, 0), (0, 1)})
    evidence = Evidence(frozenset({EVENT}), END)
    evidence.landed = [Row("C", 0, EVENT, (0, 0)), Row("C", 1, END)]
    evidence.endpoints = [Endpoint("C", False, "CLOSED", False)]
    verdict = judge(clients, evidence)
    assert verdict.lost == 1
    assert "after its EndOfStream" in verdict.problems[0]


@given(clean_runs(), st.data())
def test_a_duplicate_is_counted_and_named(run, data):
    clients, evidence = run
    index = data.draw(st.sampled_from(events(evidence)))
    row = evidence.landed[index]
    evidence.landed.insert(index, row)
    verdict = judge(clients, evidence)
    assert verdict.duplicated == 1 and verdict.lost == 0
    assert verdict.problems == [
        f"duplicated: landed more than once: client {row.identity[0]} number {row.identity[1]}"
    ]


@given(clean_runs(), st.data())
def test_a_resent_duplicate_on_another_dialog_is_counted(run, data):
    clients, evidence = run
    row = evidence.landed[data.draw(st.sampled_from(events(evidence)))]
    evidence.landed.append(dataclasses.replace(row, conversation="resend", sequence=0))
    evidence.landed.append(Row("resend", 1, END))
    verdict = judge(clients, evidence)
    assert verdict.duplicated == 1


@given(clean_runs(), st.data())
def test_two_swapped_messages_of_one_conversation_are_out_of_order(run, data):
    clients, evidence = run
    name = data.draw(st.sampled_from(sorted({row.conversation for row in evidence.landed})))
    mine = [i for i in events(evidence) if evidence.landed[i].conversation == name]
    at = data.draw(st.integers(0, len(mine) - 2))
    a, b = mine[at], mine[at + 1]
    evidence.landed[a], evidence.landed[b] = evidence.landed[b], evidence.landed[a]
    verdict = judge(clients, evidence)
    assert verdict.out_of_order == 1
    assert verdict.problems == [
        f"out of order: 1, first number {evidence.landed[b].sequence} of {name}"
    ]


@given(clean_runs())
def test_messages_of_different_conversations_may_land_in_any_order(run):
    clients, evidence = run
    evidence.landed.sort(key=lambda row: (row.sequence, row.conversation))
    assert judge(clients, evidence).clean


@given(clean_runs(), st.data())
def test_a_dead_lettered_message_is_accounted_for_and_not_clean(run, data):
    clients, evidence = run
    row = evidence.landed.pop(data.draw(st.sampled_from(events(evidence))))
    evidence.dead.append(dataclasses.replace(row, reason="code 8425: no contract"))
    verdict = judge(clients, evidence)
    assert (verdict.lost, verdict.dead_lettered) == (0, 1)
    assert verdict.problems == ["dead-lettered: 1, code 8425: no contract"]


@given(clean_runs(), st.data())
def test_a_pending_message_is_not_lost(run, data):
    clients, evidence = run
    evidence.pending.append(evidence.landed.pop(data.draw(st.sampled_from(events(evidence)))))
    verdict = judge(clients, evidence)
    assert (verdict.lost, verdict.pending) == (0, 1)


@given(clean_runs(), st.data())
def test_a_message_that_landed_although_the_caller_was_refused_is_half_sent(run, data):
    clients, evidence = run
    row = evidence.landed[data.draw(st.sampled_from(events(evidence)))]
    clients.sent.discard(row.identity)
    assert judge(clients, evidence).problems[0].startswith("half sent:")


@given(clean_runs(), st.data())
def test_a_message_of_unknown_fate_may_have_landed_or_not(run, data):
    clients, evidence = run
    row = evidence.landed[data.draw(st.sampled_from(events(evidence)))]
    clients.sent.discard(row.identity)
    clients.unknown.add(row.identity)
    problems = judge(clients, evidence).problems
    assert problems == ["unknown: 1 messages whose answer a broken connection swallowed"]


@given(clean_runs(), st.booleans())
def test_an_endpoint_that_nobody_will_end_is_leaked_unless_a_caller_still_uses_it(run, in_use):
    clients, evidence = run
    evidence.endpoints.append(Endpoint("C0", True, "CONVERSING", in_use))
    verdict = judge(clients, evidence)
    assert verdict.leaked == (0 if in_use else 1)
    assert verdict.closed == verdict.dialogs_begun - 1


def test_deadlocks_are_counted_once_whether_the_caller_or_the_server_reports_them():
    evidence = Evidence(frozenset({EVENT}), END, deadlocks=["A waits for B", "B waits for A"])
    verdict = judge(Clients(errors=[(1205, "victim"), (1205, "victim")]), evidence)
    assert (verdict.deadlocks, verdict.sender_errors) == (2, 2)
    assert verdict.problems == [
        "deadlock: 2, a caller the victim of 2 (1205). The first: A waits for B"
    ]


def test_a_sender_error_is_quoted_with_its_number():
    verdict = judge(Clients(errors=[(50100, "no such service")]), Evidence(frozenset({EVENT}), END))
    assert verdict.problems == ["sender errors: 1, first 50100: no such service"]


def test_a_run_that_never_came_to_rest_is_not_clean():
    verdict = judge(Clients(), Evidence(frozenset({EVENT}), END), quiet=False)
    assert not verdict.clean
