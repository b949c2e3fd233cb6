"""A row that cannot land is dead-lettered; its neighbours land; the queue stays on."""

from __future__ import annotations

import pytest

from .lab import END_OF_STREAM, EVENT, RECYCLE_AFTER, Lab

POISON = b"\xde\xad"
AROUND = [b"1", b"2", POISON, b"3", b"4"]


def arrange(lab: Lab, defence: str) -> None:
    """Five messages unread, one of which the landing table will not take."""
    lab.target_activation("OFF")
    for body in AROUND:
        lab.send(body)
    lab.run(defence)


CHECK = "ALTER TABLE audit.Landing ADD CONSTRAINT CK_Poison CHECK (Body <> 0xDEAD);"
UNIQUE = (
    "CREATE UNIQUE NONCLUSTERED INDEX UX_Body ON audit.Landing (MessageSequence); "
    "INSERT audit.Landing (ConversationHandle, MessageSequence, MessageType) "
    "VALUES ('00000000-0000-0000-0000-000000000001', 2, N'in the way');"
)


@pytest.mark.parametrize(("defence", "code"), [(CHECK, 547), (UNIQUE, 2601)])
def test_a_row_a_constraint_refuses_is_dead_lettered_and_its_neighbours_land(lab, defence, code):
    arrange(lab, defence)
    lab.target_activation("ON")
    assert lab.landed() == [b"1", b"2", b"3", b"4"]
    assert lab.dead() == [(2, POISON, code)]
    assert lab.table("DeadLetter", "Side, MessageType") == [("target", EVENT)]
    assert lab.queues_on()
    assert lab.unread() == []
    lab.at_rest()


def test_one_poison_row_among_many_rolls_nothing_back(lab):
    arrange(lab, CHECK)
    lab.target_activation("ON")
    assert (lab.table("PoisonAttempt"), lab.errors()) == ([], [])


def test_the_dialog_goes_on_after_a_poison_row_and_is_recycled(lab):
    arrange(lab, CHECK)
    lab.target_activation("ON")
    lab.send(b"5")
    lab.advance(RECYCLE_AFTER)
    assert lab.landed() == [b"1", b"2", b"3", b"4", b"5"]
    assert lab.landed_types()[-1] == END_OF_STREAM
    assert lab.endpoints() == [("target", "CLOSED")]


# A conversion error dooms the transaction whatever XACT_ABORT says: no savepoint helps, the batch
# has to roll back once to find the row.
DOOMING = (
    "ALTER TABLE audit.Landing ADD CONSTRAINT CK_Poison CHECK "
    "(Body <> 0xDEAD OR CONVERT(int, CONVERT(varchar(9), 'x' + MessageType)) = 1);"
)


@pytest.fixture
def doomed(lab) -> Lab:
    arrange(lab, DOOMING)
    lab.target_activation("ON")
    lab.advance(6)
    return lab


def test_a_row_that_dooms_the_batch_costs_one_rollback_and_is_dead_lettered(doomed):
    assert doomed.landed() == [b"1", b"2", b"3", b"4"]
    assert doomed.dead() == [(2, POISON, 245)]
    assert [number for number, _ in doomed.errors()] == [245]
    assert doomed.queues_on()


def test_what_is_remembered_of_it_goes_with_its_row(doomed):
    """Kept, it said "poison" for as long as the dialog lived, and kept later batches off the fast way."""
    assert doomed.table("PoisonAttempt") == []
    doomed.advance(RECYCLE_AFTER)
    assert doomed.table("PoisonAttempt") == []
    assert doomed.endpoints() == [("target", "CLOSED")]


def test_twenty_such_rows_one_after_the_other_never_switch_the_queue_off(lab):
    """Five rollbacks in a row would (removing-poison-messages page)."""
    lab.run(DOOMING)
    bodies = [POISON if number % 2 else bytes([number]) for number in range(40)]
    for body in bodies:
        lab.send(body)
        assert lab.queues_on()
    lab.advance(30)
    assert lab.landed() == [body for body in bodies if body != POISON]
    assert len(lab.dead()) == 20
    assert lab.unaccounted(bodies) == {}
    assert lab.queues_on()


def test_twenty_such_rows_in_one_batch_never_do_either(lab):
    lab.target_activation("OFF")
    bodies = [POISON if number % 2 else bytes([number]) for number in range(40)]
    for body in bodies:
        lab.send(body)
    lab.run(DOOMING)
    lab.target_activation("ON")
    lab.advance(30)
    assert lab.landed() == [body for body in bodies if body != POISON]
    assert len(lab.dead()) == 20
    assert lab.queues_on()


def test_when_nothing_at_all_can_be_written_the_queue_stops_and_nothing_is_lost(lab):
    """The last resort: neither landed nor dead-lettered, so five rollbacks switch the queue off."""
    refuse = "ALTER TABLE audit.{0} ADD CONSTRAINT CK_Never_{0} CHECK (1 = 0);"
    tables = ("Landing", "DeadLetter")
    lab.target_activation("OFF")
    for body in AROUND:
        lab.send(body)
    for table in tables:
        lab.run(refuse.format(table))
    lab.target_activation("ON")
    lab.advance(60)
    assert not lab.queues_on()
    assert {number for number, _ in lab.errors()} == {547}
    for table in tables:
        lab.run(f"ALTER TABLE audit.{table} DROP CONSTRAINT CK_Never_{table};")
    lab.target_queue("ON")
    lab.advance(60)
    assert lab.unaccounted(AROUND) == {}
    assert lab.unread() == []
