"""Seed 001's design: one dialog for everybody, found without a table."""

from __future__ import annotations

import pytest

from redial_lab.explore import search
from redial_lab.proof.comparators import send_shared, shared_dialog
from tests.product.seeds.lab import Lab


@pytest.fixture
def lab() -> Lab:
    return Lab(mutant="shared_dialog")


def test_every_session_sends_on_the_same_dialog_and_order_is_kept(lab):
    """Seed 001: order is kept for the whole life of the dialog."""
    for number in range(1, 6):
        lab.connect().execute(send_shared(f"{number:02X}")).ok()
    assert lab.landed() == [bytes([n]) for n in range(1, 6)]
    assert lab.endpoints() == [("initiator", "CONVERSING"), ("target", "CONVERSING")]


def test_an_application_keeps_the_handle_it_was_given(lab):
    [(first, second)] = lab.rows(
        "DECLARE @a uniqueidentifier, @b uniqueidentifier; "
        "EXECUTE audit.usp_SendShared 0x01, @a OUTPUT; SET @b = @a; "
        "EXECUTE audit.usp_SendShared 0x02, @b OUTPUT; SELECT @a, @b;"
    )
    assert first == second


def test_a_dialog_that_fails_is_replaced_and_the_message_sent(lab):
    """Seed 001: the SEND logic catches the invalid dialog and begins a new one."""
    lab.run(send_shared("01"))
    old = lab.handles(1)[0]
    lab.run(f"END CONVERSATION '{old}';")
    lab.run(f"DECLARE @h uniqueidentifier = '{old}'; EXECUTE audit.usp_SendShared 0x02, @h OUTPUT;")
    assert lab.landed() == [b"\x01", b"\x02"]


def test_a_sender_waits_until_anothers_transaction_is_over(lab):
    """Seed 001's own warning: sending locks the dialog until the transaction commits."""
    lab.run(send_shared("01"))
    lab.run(f"BEGIN TRANSACTION; {send_shared('02')}")
    other = lab.connect()
    waiting = other.execute(send_shared("03"))
    assert not waiting.finished
    lab.run("COMMIT TRANSACTION;")
    lab.instance.run()
    assert waiting.finished
    assert lab.landed() == [b"\x01", b"\x02", b"\x03"]


def test_two_first_users_begin_a_dialog_each():
    """Nothing locks what is not there yet: found by search. key = single has one group for it."""
    result = search(shared_dialog())
    print(result)
    assert result.ended
    assert set(result.violations) == {"two dialogs"}


def test_nothing_ever_recycles_it(lab):
    """Seed 000: all eggs in one basket, and RETENTION keeps every message of the dialog's life."""
    lab.run(send_shared("01"))
    lab.advance(30 * 86_400)
    assert lab.endpoints() == [("initiator", "CONVERSING"), ("target", "CONVERSING")]
