"""usp_RetireIdle: dialogs past their time or idle are closed, and no send writes for it."""

import pytest

from .lab import Client, Lab, configured, send

RETIRE = "EXECUTE audit.usp_RetireIdle @olderThanSeconds = {}, @WhatIf = {};"


@pytest.fixture
def lab():
    return Lab()


def retire(lab: Lab, older: int | str = 600, what_if: int = 0) -> list[tuple[str, str]]:
    """(why, outcome) of each dialog the call reports."""
    return [(row[2], row[4]) for row in lab.rows(RETIRE.format(older, what_if))]


def test_an_idle_dialog_is_known_by_two_runs_and_closed(lab):
    client = Client(lab)
    client.execute(send("0x01"))
    assert retire(lab) == []
    lab.advance(700)
    assert retire(lab) == [("idle for 700 s or more", "retired")]
    lab.advance(5)
    assert lab.endpoints() == [("CD", 0)]
    client.execute(send("0x02"))
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_a_dialog_that_moved_between_two_runs_is_not_idle(lab):
    client = Client(lab)
    client.execute(send("0x01"))
    retire(lab)
    lab.advance(700)
    client.execute(send("0x02"))
    assert retire(lab) == []
    lab.advance(700)
    assert retire(lab) == [("idle for 700 s or more", "retired")]


def test_by_default_it_only_shows_and_writes_nothing_down(lab):
    Client(lab).execute(send("0x01"))
    retire(lab)
    lab.advance(700)
    assert retire(lab, what_if=1) == [("idle for 700 s or more", "would be retired")]
    assert ("CO", 1) in lab.endpoints()
    lab.sa.execute("DELETE FROM audit.IdleWatch; EXECUTE audit.usp_RetireIdle;")
    assert lab.rows("SELECT 1 FROM audit.IdleWatch;") == []


def test_a_dialog_in_use_is_kept_and_not_waited_for(lab):
    client = Client(lab)
    client.execute(send("0x01"))
    retire(lab)
    lab.advance(700)
    client.execute(
        "BEGIN TRANSACTION; SELECT Handle FROM audit.SessionConversations WITH (UPDLOCK);"
    )  # as a sender does that has looked its row up
    ((_, outcome),) = retire(lab, 1)
    assert outcome == "kept: it is in use now"
    client.execute(send("0x02") + "COMMIT;")
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_a_dialog_whose_timer_was_lost_is_retired_for_its_age():
    lab = Lab(configured(timer={"after_seconds": 60, "spread_seconds": 0, "retry_seconds": 5}))
    Client(lab).execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    lab.advance(200)
    assert retire(lab, 0) == [("its time has come", "retired")]


def test_what_it_remembers_of_a_dialog_goes_with_it(lab):
    Client(lab).execute(send("0x01"))
    retire(lab)
    lab.advance(700)
    retire(lab)
    lab.advance(5)
    retire(lab)
    assert lab.rows("SELECT 1 FROM audit.IdleWatch;") == []


def test_wrong_inputs_and_a_transaction_are_refused(lab):
    assert lab.sa.fail(RETIRE.format(-1, "NULL")) == 50185
    assert "@olderThanSeconds" in lab.sa.errors[0].text and "@WhatIf" in lab.sa.errors[0].text
    assert lab.sa.fail("BEGIN TRANSACTION; EXECUTE audit.usp_RetireIdle;") == 50186
    lab.sa.execute("IF @@TRANCOUNT > 0 ROLLBACK;")
