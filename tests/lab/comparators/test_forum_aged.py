"""Seed 002's last post: age in the send procedure, activation that only ends, a nightly job."""

from __future__ import annotations

import pytest

from redial_lab.explore import search
from redial_lab.proof.comparators import forum_aged, send_message
from tests.product.seeds.lab import END_OF_STREAM, RECYCLE_AFTER, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab(mutant="forum_aged")


def test_an_aged_dialog_is_closed_by_the_next_send(lab):
    lab.run(send_message("0x01"))
    lab.advance(RECYCLE_AFTER + 1)
    lab.run(send_message("0x02"))
    assert lab.landed() == [b"\x01", b"\x02"]
    assert lab.endpoints() == [
        ("initiator", "CONVERSING"),
        ("target", "CLOSED"),
        ("target", "CONVERSING"),
    ]


def test_an_idle_dialog_waits_for_the_night(lab):
    """What the thread says of its own advice: "this could leave the conversation around"."""
    lab.run(send_message("0x01"))
    lab.advance(10 * RECYCLE_AFTER)
    assert END_OF_STREAM not in lab.landed_types()
    lab.run("EXECUTE audit.usp_PurgeConversations;")
    lab.advance(10)
    assert lab.landed_types()[-1] == END_OF_STREAM
    assert lab.endpoints() == [("target", "CLOSED")]


def test_without_the_job_a_sender_in_a_transaction_deadlocks_with_nobody():
    """The thread: "after doing this it appears that all deadlocking has stopped"."""
    result = search(forum_aged(in_transaction=True, job=False))
    print(result)
    assert result.ended
    assert result.violations == {}


def test_beside_the_job_it_deadlocks_again_by_the_index_on_handle():
    """Both DELETE by Handle: the job holds the Handle entry and wants the row, the sender the other
    way round (F-120)."""
    result = search(forum_aged(in_transaction=True, job=True))
    print(result)
    assert "deadlock" in result.violations


def test_beside_the_job_a_caller_in_autocommit_hears_of_a_failure_that_is_none():
    """Both find the row aged and both send EndOfStream: the caller gets 8426, and its message has
    gone out on the new dialog all the same."""
    result = search(forum_aged(in_transaction=False, job=True))
    print(result)
    assert "refused message arrived" in result.violations


def test_an_error_message_ends_nothing_so_the_dialog_leaks(lab):
    lab.target_activation("OFF")
    lab.run(send_message("0x01"))
    lab.end_target("WITH ERROR = 7 DESCRIPTION = N'no'")
    lab.advance(10 * RECYCLE_AFTER)
    assert ("initiator", "ERROR") in lab.endpoints()
    assert lab.table("ServiceBrokerConversations"), "and its row still leads to it"
