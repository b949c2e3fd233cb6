"""after_dead_letter = "wait": later messages of a key land behind its dead letter, or when it is given up."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from redial.config import Config

from .lab import Client, Lab, configured, send
from .test_setup_trouble import START, WAITING
from .test_usp_TargetActivation import pause, queue_is_on

BAD = "0xDEAD"
REFUSE = "ALTER TABLE audit.Landing ADD CONSTRAINT CK_No CHECK (Body <> 0xDEAD);"
MEND = "ALTER TABLE audit.Landing DROP CONSTRAINT CK_No;"
HELD = "SELECT ConversationKey, KeySequence FROM audit.HeldKey ORDER BY 1, 2;"
WAIT = {
    "conversation": {"key": "application", "order": "key"},
    "poison": {"after_dead_letter": "wait"},
}


def waiting(**more: dict) -> Lab:
    """Numbered keys; 0xDEAD cannot land; the target reads nothing yet."""
    lab = Lab(configured(**{k: WAIT.get(k, {}) | more.get(k, {}) for k in WAIT | more}))
    lab.sa.execute(REFUSE)
    pause(lab)
    return lab


def of_key(lab: Lab, key: str, *bodies: str) -> Client:
    client = Client(lab)
    for body in bodies:
        client.execute(send(body, key=f"N'{key}'"))
    return client


def landed(lab: Lab, key: str) -> list[bytes]:
    return [
        body
        for (body,) in lab.rows(
            f"SELECT Body FROM audit.Landing WHERE ConversationKey = N'{key}' ORDER BY RowVersion;"
        )
    ]


def dead(lab: Lab) -> list[tuple]:
    """Last bytes and code of each dead letter, the oldest first."""
    sql = "SELECT SUBSTRING(Body, DATALENGTH(Body) - 1, 2), Code FROM audit.DeadLetter ORDER BY DeadLetterId;"
    return lab.rows(sql)


def handle(lab: Lab, verb: str) -> None:
    """Replay, Mark: all that are not handled."""
    lab.sa.execute(f"EXECUTE audit.usp_{verb}DeadLetter 0, 999, @reason = N'seen', @WhatIf = 0;")


def found(lab: Lab) -> list[str]:
    """Figures of the finding."""
    return [r[3] for r in lab.rows("EXECUTE audit.usp_Health;") if r[7] == "key-waits"]


@pytest.mark.sampled(every=3, meets=("readers", "batch"))
@pytest.mark.parametrize("readers", [1, 4])
@pytest.mark.parametrize("batch", [1, 3, 500])
def test_what_comes_behind_a_dead_letter_waits_and_lands_behind_its_replay(readers, batch):
    """1 the third of five is refused  2 fifteen minutes  3 it is mended and replayed  4 the rest lands."""
    lab = waiting(target={"readers": readers, "receive_batch": batch})
    of_key(lab, "a", "0x01", "0x02", BAD, "0x04", "0x05")
    of_key(lab, "b", "0x0B")
    lab.sa.execute(START)
    lab.advance(60)
    of_key(lab, "b", "0x0C")
    lab.advance(900)
    assert landed(lab, "a") == [b"\x01", b"\x02"] and landed(lab, "b") == [b"\x0b", b"\x0c"]
    assert dead(lab) == [(b"\xde\xad", 547)] and queue_is_on(lab)
    assert lab.rows(HELD) == [("a", 3)] and lab.rows(WAITING) == [(50215,)]
    assert found(lab) == ["1 conversations, 1 dead letters"]
    lab.sa.execute(MEND)
    handle(lab, "Replay")
    lab.advance(60)
    assert landed(lab, "a") == [b"\x01", b"\x02", b"\xde\xad", b"\x04", b"\x05"]
    assert lab.rows(HELD) == lab.rows(WAITING) == found(lab) == []


@pytest.mark.parametrize(
    "gives_up",
    [
        "EXECUTE audit.usp_MarkDeadLetter 0, 1000000, @reason = N'no', @WhatIf = 0;",
        "EXECUTE audit.usp_PurgeDeadLetter @olderThanDays = 0, @includeUnhandled = 1, "
        "@reason = N'no', @WhatIf = 0;",
    ],
)
def test_a_letter_that_is_given_up_lets_the_others_go_on(gives_up):
    lab = waiting()
    of_key(lab, "a", BAD, "0x02")
    lab.sa.execute(START)
    lab.advance(60)
    assert landed(lab, "a") == [] and len(dead(lab)) == 1
    lab.sa.execute(gives_up)
    lab.advance(60)
    assert landed(lab, "a") == [b"\x02"] and lab.rows(HELD) == lab.rows(WAITING) == []


def test_the_next_dialog_of_the_key_waits_too():
    """1 refused  2 the dialog is replaced  3 what comes on the new one waits, and other keys do not."""
    lab = waiting(conversation={"recycle": "aged_out"}, aged_out={"after_messages": 2})
    lab.sa.execute(START)
    of_key(lab, "a", BAD, "0x02")
    lab.advance(60)
    of_key(lab, "a", "0x03", "0x04", "0x05")
    of_key(lab, "b", "0x0B")
    lab.advance(600)
    assert landed(lab, "a") == [] and landed(lab, "b") == [b"\x0b"]
    assert len(lab.rows(WAITING)) == 3 and queue_is_on(lab)
    handle(lab, "Mark")
    lab.advance(60)
    assert sorted(landed(lab, "a")) == [b"\x02", b"\x03", b"\x04", b"\x05"]


def test_two_letters_of_a_key_are_waited_for_one_behind_the_other():
    lab = waiting()
    of_key(lab, "a", BAD, "0x02", BAD, "0x04")
    lab.sa.execute(START)
    lab.advance(60)
    handle(lab, "Mark")
    lab.advance(60)
    assert landed(lab, "a") == [b"\x02"] and lab.rows(HELD) == [("a", 3)] and len(dead(lab)) == 2
    lab.sa.execute(MEND)
    handle(lab, "Replay")
    lab.advance(60)
    assert landed(lab, "a") == [b"\x02", b"\xde\xad", b"\x04"] and lab.rows(HELD) == []


def test_a_replay_that_fails_again_is_waited_for_again():
    lab = waiting()
    of_key(lab, "a", BAD, "0x02")
    lab.sa.execute(START)
    lab.advance(60)
    handle(lab, "Replay")
    lab.advance(60)
    assert landed(lab, "a") == [] and len(dead(lab)) == 2 and lab.rows(HELD) == [("a", 1)]
    handle(lab, "Mark")
    lab.advance(60)
    assert landed(lab, "a") == [b"\x02"]


@pytest.mark.parametrize("readers", [1, 4])
def test_many_keys_that_wait_never_switch_the_queue_off(readers):
    lab = waiting(target={"readers": readers})
    many = 8  # five rollbacks in a row switch a queue off
    for number in range(many):
        of_key(lab, f"k{number}", BAD, "0x02")
    of_key(lab, "good", "0x01")
    lab.sa.execute(START)
    lab.advance(300)
    assert landed(lab, "good") == [b"\x01"] and len(lab.bodies()) == 1
    assert len(dead(lab)) == many and queue_is_on(lab)
    handle(lab, "Mark")
    lab.advance(120)
    assert len(lab.bodies()) == many + 1 and lab.rows(HELD) == lab.rows(WAITING) == []


def test_a_message_that_dooms_its_transaction_is_waited_for_too():
    lab = waiting()
    lab.sa.execute(
        MEND + "EXECUTE (N'CREATE TRIGGER audit.No ON audit.Landing AFTER INSERT AS IF EXISTS "
        "(SELECT 1 FROM inserted WHERE Body = 0xDEAD) THROW 50999, N''no'', 1;');"
    )
    of_key(lab, "a", "0x01", BAD, "0x03", BAD)
    lab.sa.execute(START)
    lab.advance(120)
    assert landed(lab, "a") == [b"\x01"] and queue_is_on(lab)
    assert dead(lab)[0] == (b"\xde\xad", 50999)


@pytest.mark.parametrize(
    "more", [{"target": {"processing": "hook"}}, {"conversation": {"delivery": "exactly_once"}}]
)
def test_a_hook_and_repeats_wait_alike(more):
    lab = waiting(**more)
    if "target" in more:
        ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_ProcessMessage'));")
        refuses = "SET NOCOUNT ON; IF @body = 0xDEAD THROW 50999, N'no', 1;"
        lab.sa.execute(
            text.replace("CREATE PROCEDURE", "ALTER PROCEDURE").replace("SET NOCOUNT ON;", refuses)
        )
    of_key(lab, "a", "0x01", BAD, "0x03")
    lab.sa.execute(START)
    lab.advance(60)
    assert lab.bodies() == [b"\x01"] and len(dead(lab)) == 1 and queue_is_on(lab)
    handle(lab, "Mark")
    lab.advance(60)
    assert lab.bodies() == [b"\x01", b"\x03"] and lab.rows(HELD) == []


def test_without_it_the_others_go_on():
    lab = waiting(poison={"after_dead_letter": "go_on"})
    of_key(lab, "a", BAD, "0x02")
    lab.sa.execute(START)
    lab.advance(5)
    assert landed(lab, "a") == [b"\x02"] and len(dead(lab)) == 1
    assert lab.rows("SELECT OBJECT_ID(N'audit.HeldKey');") == [(None,)]


def test_without_numbers_nobody_knows_what_comes_later():
    wrong = configured(poison={"after_dead_letter": "wait"}).model_dump(by_alias=True)
    with pytest.raises(ValidationError, match=r"poison\.after_dead_letter: without numbers"):
        Config.model_validate(wrong)
