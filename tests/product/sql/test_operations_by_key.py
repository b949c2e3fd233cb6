"""The operator's procedures with every key: pool slots and everlasting dialogs are no leaks."""

import pytest

from tests.choices import OTHERS, TRAITS, WITHOUT_ROWS, usual_recycle

from .lab import Client, Lab, configured, send

DRAIN = "DECLARE @r int; EXECUTE @r = audit.usp_Drain @reason = N'test', @WhatIf = 0; SELECT @r;"


def lab_with(key: str, **sections) -> Lab:
    conversation = {"key": key, "recycle": usual_recycle(key)}
    return Lab(configured(conversation=conversation, pool={"size": 3}, **sections))


def leaked(lab: Lab, what_if: int = 1) -> list[tuple[str, str]]:
    """(action, outcome) of what usp_EndLeaked shows."""
    return [
        row[-2:]
        for row in lab.rows(f"EXECUTE audit.usp_EndLeaked @reason = N'test', @WhatIf = {what_if};")
    ]


@pytest.mark.parametrize("key", OTHERS)
def test_a_drain_waits_for_a_sender_closes_all_and_the_gate_opens_again(key):
    lab = lab_with(key)
    sender, operator = Client(lab), Client(lab)
    sender.execute(send("0x01"))
    sender.execute("BEGIN TRANSACTION;" + send("0x02"))
    operator.submit(DRAIN)
    lab.advance(2)
    assert not operator.out.finished
    sender.execute("COMMIT;")
    lab.advance(10)
    assert operator.out.finished and operator.out.result_sets[-1].rows == [(0,)]
    assert {state for state, _ in lab.endpoints()} == {"CD"}
    assert sender.fail(send("0x03")) == 50102
    lab.sa.execute("EXECUTE audit.usp_OpenGate @reason = N'x';")
    sender.execute(send("0x04"))
    assert lab.bodies() == [b"\x01", b"\x02", b"\x04"]


@pytest.mark.parametrize("key", WITHOUT_ROWS)
def test_a_drain_never_makes_a_new_sender_wait(key):
    """While it cannot close the gate, senders come and go; then it says the gate is still open."""
    lab = lab_with(key)
    busy, other, operator = Client(lab), Client(lab), Client(lab)
    busy.execute(send("0x01"))
    busy.execute("BEGIN TRANSACTION;" + (send("0x02") if TRAITS[key].per_message else "SELECT 1;"))
    if TRAITS[key].everlasting:
        busy.execute("SELECT IsOpen FROM audit.Gate WITH (REPEATABLEREAD);")  # as a sender does
    operator.submit(DRAIN.replace("@WhatIf", "@waitSeconds = 2, @WhatIf"))
    lab.advance(1)
    other.execute(send("0x03"))
    lab.advance(5)
    assert operator.out.finished and operator.out.result_sets[-1].rows == [(1,)]
    assert operator.out.result_sets[0].rows[0][0] == "gate still open"
    busy.execute("COMMIT;")


def test_a_drain_of_the_everlasting_dialog_waits_no_longer_than_it_was_told():
    """Who holds the dialog (or, refused by the gate, its share lock) may go on for hours."""
    lab = lab_with("single")
    holder, operator = Client(lab), Client(lab)
    holder.execute(send("0x01"))
    lab.advance(5)
    ((handle,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 1;"
    )
    lab.sa.execute(f"BEGIN TRANSACTION; BEGIN CONVERSATION TIMER ('{handle}') TIMEOUT = 9999;")
    operator.submit(DRAIN.replace("@WhatIf", "@waitSeconds = 3, @WhatIf"))
    for _ in range(8):
        lab.advance(1)
    assert operator.out.finished and operator.errors == []
    assert operator.out.result_sets[-1].rows == [(1,)]
    assert operator.out.result_sets[0].rows[0][0] == "gate open again"
    lab.sa.execute("COMMIT;")
    operator.submit(DRAIN)
    lab.advance(10)
    assert operator.out.result_sets[-1].rows == [(0,)]


def test_unused_slots_of_a_pool_are_no_leaks_and_a_slot_whose_dialog_is_gone_is_freed():
    lab = lab_with("pool")
    Client(lab).execute(send("0x01"))
    assert leaked(lab) == []
    ((handle,),) = lab.rows(
        "SELECT Handle FROM audit.SessionConversations WHERE BegunUtc IS NOT NULL;"
    )
    lab.sa.execute(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    assert ("FREE SLOT", "done") in leaked(lab, 0)
    assert lab.rows("SELECT COUNT(*), COUNT(BegunUtc) FROM audit.SessionConversations;") == [(3, 0)]
    Client(lab).execute(send("0x02"))
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_the_everlasting_dialog_is_no_leak_and_one_outside_of_its_group_is_closed():
    lab = lab_with("single")
    Client(lab).execute(send("0x01"))
    assert leaked(lab) == []
    lab.sa.execute(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        "TO SERVICE N'//redial/audit/target' ON CONTRACT [//redial/audit/contract] "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h MESSAGE TYPE [//redial/audit/event] (0x02);"
    )
    assert leaked(lab, 0) == [("CLOSE", "done")]
    lab.advance(5)
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert [state for state, initiator in lab.endpoints() if initiator] == ["CO"]


def test_a_dialog_per_message_leaves_nothing_that_looks_leaked():
    lab = lab_with("message")
    for body in ("0x01", "0x02"):
        Client(lab).execute(send(body))
    lab.advance(5)
    assert leaked(lab) == []
    assert lab.rows("SELECT DISTINCT Priority FROM audit.vw_Conversations;") == [(5,)]


def test_an_idle_slot_of_a_pool_is_retired_and_stays_a_slot():
    lab = lab_with("pool")
    Client(lab).execute(send("0x01"))
    retire = "EXECUTE audit.usp_RetireIdle @olderThanSeconds = 60, @WhatIf = 0;"
    assert lab.rows(retire) == []
    lab.advance(100)
    assert [row[-1] for row in lab.rows(retire)] == ["retired"]
    lab.advance(5)
    assert lab.endpoints() == [("CD", 0)]
    assert lab.rows("SELECT COUNT(*), COUNT(BegunUtc) FROM audit.SessionConversations;") == [(3, 0)]


@pytest.mark.parametrize("key", OTHERS)
def test_health_is_quiet_with_every_key(key):
    lab = lab_with(key)
    Client(lab).execute(send("0x01"))
    lab.advance(5)
    assert {row[0] for row in lab.rows("EXECUTE audit.usp_Health;")} == {200}


def test_a_dialog_past_its_age_is_retired_with_aged_out():
    lab = Lab(
        configured(
            conversation={"recycle": "aged_out"},
            aged_out={"after_seconds": 100, "spread_seconds": 0, "idle_seconds": 0},
        )
    )
    Client(lab).execute(send("0x01"))
    lab.advance(50)
    assert lab.rows("EXECUTE audit.usp_RetireIdle @WhatIf = 0;") == []
    lab.advance(60)
    ((*_, why, _, outcome),) = lab.rows("EXECUTE audit.usp_RetireIdle @WhatIf = 0;")
    assert (why, outcome) == ("its time has come", "retired")
