"""vw_Unlanded and SkippedNumber: whoever reads by number finds each one that is missing."""

from __future__ import annotations

import pytest

from .lab import Client, Lab, configured, send

KEYED = configured(
    conversation={
        "key": "application",
        "order": "key",
        "recycle": "timer",
        "delivery": "exactly_once",
    }
)
ID = "'{}1111111-1111-1111-1111-111111111111'"
UNLANDED = (
    "SELECT Status, ConversationKey, KeySequence FROM audit.vw_Unlanded "
    "ORDER BY KeySequence, Status;"
)
LANDED = "SELECT KeySequence FROM audit.Landing WHERE ConversationKey = N'k' ORDER BY 1;"


def keyed(body: str, message_id: str | None = None) -> str:
    return send(body, key="N'k'", message_id=message_id)


@pytest.fixture
def lab() -> Lab:
    return Lab(KEYED)


def pause(lab: Lab) -> None:
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")


def test_what_is_on_its_way_is_pending_with_key_and_number(lab):
    pause(lab)
    Client(lab).execute(keyed("0x01") + keyed("0x02"))
    assert lab.rows(UNLANDED) == [("pending", "k", 1), ("pending", "k", 2)]
    assert lab.rows("SELECT KeySequence FROM audit.vw_Pending;") == [], "not in transmission"


def test_what_has_landed_is_not_in_it(lab):
    Client(lab).execute(keyed("0x01"))
    assert (lab.rows(UNLANDED), lab.rows(LANDED)) == ([], [(1,)])


def test_a_retry_that_is_dropped_is_a_repeat_with_the_number_it_took(lab):
    """The review's third finding: the same id twice, then another one: 1, then 3."""
    client = Client(lab)
    for body, message_id in (
        ("0x01", ID.format("A")),
        ("0x01", ID.format("A")),
        ("0x02", ID.format("B")),
    ):
        client.execute(keyed(body, message_id))
    assert lab.rows(LANDED) == [(1,), (3,)]
    assert lab.rows(UNLANDED) == [("repeat", "k", 2)]
    assert lab.rows("SELECT MessageId FROM audit.SkippedNumber;") == [(ID.format("A").strip("'"),)]


def test_a_dead_letter_is_in_it_until_it_has_been_replayed(lab):
    lab.rows("ALTER TABLE audit.Landing ADD CONSTRAINT CK_None CHECK (Body <> 0x01);")
    Client(lab).execute(keyed("0x01") + keyed("0x02"))
    lab.advance(5)
    assert lab.rows(UNLANDED) == [("dead letter", "k", 1)]
    lab.rows("ALTER TABLE audit.Landing DROP CONSTRAINT CK_None;")
    lab.rows(
        "EXECUTE audit.usp_ReplayDeadLetter @deadLetterId = 1, @reason = N'mended', @WhatIf = 0;"
    )
    lab.advance(5)
    assert lab.rows(UNLANDED) == []
    assert lab.rows(LANDED) == [(1,), (2,)], "a replay keeps the number"


def test_a_dead_letter_that_is_removed_leaves_its_number_as_given_up(lab):
    lab.rows("ALTER TABLE audit.Landing ADD CONSTRAINT CK_None CHECK (Body <> 0x01);")
    Client(lab).execute(keyed("0x01"))
    lab.advance(5)
    lab.rows(
        "EXECUTE audit.usp_PurgeDeadLetter @deadLetterId = 1, @reason = N'not wanted', @WhatIf = 0;"
    )
    assert lab.rows(UNLANDED) == [("given up", "k", 1)]


def test_every_number_of_a_key_is_in_landing_or_here(lab):
    """A mixture of all of it: no number is nowhere, and none is in both."""
    client = Client(lab)
    lab.rows("ALTER TABLE audit.Landing ADD CONSTRAINT CK_None CHECK (Body <> 0x03);")
    for number in (1, 2, 3, 4):
        for _ in range(1 + number % 2):
            client.execute(keyed(f"0x0{number}", ID.format("ABCD"[number - 1])))
    pause(lab)
    client.execute(keyed("0x05"))
    landed = {number for (number,) in lab.rows(LANDED)}
    waiting = [number for _, _, number in lab.rows(UNLANDED)]
    assert landed.isdisjoint(waiting)
    assert sorted([*landed, *waiting]) == list(range(1, 8))


def test_without_numbers_it_shows_what_is_pending_and_set_aside():
    lab = Lab()
    pause(lab)
    Client(lab).execute(send("0x01"))
    assert lab.rows(UNLANDED) == [("pending", None, None)]
