"""usp_Drain and usp_OpenGate: no new sends, every dialog closed, both sides ended.

Every order of a drain and its senders is searched in tests/lab/proof/test_drain.py; here are the
answers an operator gets, and the waits that need a clock.
"""

import pytest

from tests.choices import KEYS, usual_recycle

from .lab import Client, Lab, configured, send

DRAIN = (
    "DECLARE @r int; EXECUTE @r = audit.usp_Drain @reason = N'test', @waitSeconds = {}, "
    "@WhatIf = 0; SELECT @r;"
)


@pytest.fixture
def lab():
    return Lab()


def start(client: Client, wait: int = 60) -> None:
    client.submit(DRAIN.format(wait))


def outcome(client: Client) -> tuple[int, dict[str, int]]:
    """(return value, figure by outcome) of a drain that has come to its end."""
    assert client.out.finished, "the drain still waits"
    assert not client.errors, client.errors
    report, ((value,),) = (found.rows for found in client.out.result_sets)
    return value, {name: figure for name, figure, _ in report}


def drain(lab: Lab, seconds: int = 70, wait: int = 60) -> tuple[int, dict[str, int]]:
    client = Client(lab)
    start(client, wait)
    lab.advance(seconds)
    return outcome(client)


def test_by_default_it_only_shows_what_is_open(lab):
    client = Client(lab)
    client.execute(send("0x01"))
    report = {name: figure for name, figure, _ in lab.rows("EXECUTE audit.usp_Drain;")}
    assert report == {"would be closed": 0, "dialogs closed": 0, "endpoints open": 2}
    client.execute(send("0x02"))
    assert lab.rows("SELECT 1 FROM audit.OperatorLog;") == []


def test_it_closes_every_dialog_waits_for_both_sides_and_refuses_new_sends(lab):
    first, second = Client(lab), Client(lab)
    first.execute(send("0x01"))
    second.execute(send("0x02"))
    assert drain(lab) == (0, {"gate closed": 1, "dialogs closed": 2, "endpoints open": 0})
    assert {state for state, _ in lab.endpoints()} == {"CD"}
    assert first.fail(send("0x03")) == 50102
    assert Client(lab).fail(send("0x04")) == 50102
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []


def test_who_closed_the_gate_and_why_is_kept_and_opening_it_lets_senders_in(lab):
    assert drain(lab)[0] == 0
    assert lab.rows("SELECT IsOpen, ChangedBy, Reason FROM audit.Gate;") == [(0, "sa", "test")]
    lab.sa.execute("EXECUTE audit.usp_OpenGate @reason = N'done';")
    assert lab.rows("SELECT Action, Login, Reason FROM audit.OperatorLog;") == [
        ("close gate", "sa", "test"),
        ("open gate", "sa", "done"),
    ]
    Client(lab).execute(send("0x01"))
    assert lab.bodies() == [b"\x01"]


def test_a_sender_in_a_transaction_is_waited_for_and_its_message_comes_before_end_of_stream(lab):
    sender, operator = Client(lab), Client(lab)
    sender.execute(send("0x01"))
    sender.execute("BEGIN TRANSACTION;" + send("0x02"))
    start(operator)
    lab.advance(5)
    assert not operator.out.finished
    sender.execute("COMMIT;")
    lab.advance(5)
    assert outcome(operator)[0] == 0
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert lab.landed()[-1][1] == "EndOfStream"


def test_a_first_sender_that_has_only_placed_its_row_is_seen_as_busy(lab):
    sender, operator = Client(lab), Client(lab)
    sender.execute("BEGIN TRANSACTION;" + send("0x01"))
    start(operator)
    lab.advance(5)
    assert not operator.out.finished
    sender.execute("COMMIT;")
    lab.advance(5)
    assert outcome(operator)[0] == 0
    assert lab.bodies() == [b"\x01"]


def test_a_sender_that_goes_on_after_the_gate_closed_can_still_roll_back_cleanly(lab):
    sender, operator = Client(lab), Client(lab)
    sender.execute("BEGIN TRANSACTION;" + send("0x01"))
    start(operator)
    lab.advance(1)
    assert sender.fail(send("0x02")) == 50102
    sender.execute("ROLLBACK;")
    lab.advance(5)
    assert outcome(operator)[0] == 0
    assert lab.bodies() == []


def test_out_of_time_it_says_what_is_in_use_and_the_next_call_goes_on(lab):
    sender = Client(lab)
    sender.execute(send("0x01"))
    sender.execute("BEGIN TRANSACTION;" + send("0x02"))
    value, report = drain(lab, seconds=5, wait=2)
    assert value == 1
    assert report["dialogs in use"] == 1
    sender.execute("COMMIT;")
    assert drain(lab)[0] == 0


def test_a_target_that_is_off_is_waited_for_and_named(lab):
    client = Client(lab)
    client.execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    client.execute(send("0x02"))
    value, report = drain(lab, seconds=5, wait=2)
    assert value == 1
    assert report["endpoints open"] == 2
    assert report["dialogs pending"] == 1
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    assert drain(lab)[0] == 0
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_a_dead_dialog_does_not_stop_it(lab):
    Client(lab).execute(send("0x01"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    assert drain(lab, wait=2)[1]["gate open again"] == 1
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []


def test_wrong_inputs_are_named_together_and_a_transaction_is_refused(lab):
    wrong = "EXECUTE audit.usp_Drain @waitSeconds = 4000, @WhatIf = 0;"
    assert lab.sa.fail(wrong) == 50160
    assert "@waitSeconds" in lab.sa.errors[0].text and "@reason" in lab.sa.errors[0].text
    for procedure in ("usp_Drain", "usp_OpenGate @reason = N'x'"):
        assert lab.sa.fail(f"BEGIN TRANSACTION; EXECUTE audit.{procedure};") == 50161
        lab.sa.execute("IF @@TRANCOUNT > 0 ROLLBACK;")
    assert lab.sa.fail("EXECUTE audit.usp_OpenGate;") == 50160


def test_an_operator_may_drain_and_a_sender_may_not(lab):
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    lab.sa.execute("CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    lab.sa.execute("EXECUTE AS USER = N'ops'; EXECUTE audit.usp_Drain; REVERT;")
    for procedure in ("usp_Drain", "usp_OpenGate", "usp_CloseGate N'x', '20260101', NULL"):
        assert lab.sa.fail(f"EXECUTE AS USER = N'app'; EXECUTE audit.{procedure};") == 229
        lab.sa.execute("REVERT;")


@pytest.mark.parametrize("reads_wait", [False, True])
def test_a_caller_who_waits_for_no_lock_gets_the_same_drain(reads_wait):
    """LOCK_TIMEOUT 0, and a reader of the target that holds its endpoint (F-126)."""
    lab = Lab(endpoint_reads_wait=reads_wait)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0x01"))
    operator, reader = Client(lab), Client(lab)
    operator.execute("SET LOCK_TIMEOUT 0;")
    start(operator, wait=30)
    reader.execute(
        "BEGIN TRANSACTION; DECLARE @h uniqueidentifier; RECEIVE TOP (1) @h = "
        "conversation_handle FROM audit.TargetQueue; END CONVERSATION @h;"
    )
    lab.advance(10)
    assert not operator.out.finished
    reader.execute("COMMIT;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(10)
    assert outcome(operator)[0] == 0
    assert operator.value("@@LOCK_TIMEOUT") == 0
    assert lab.bodies() == [b"\x01"]  # dropped by that reader, so it was sent again


@pytest.mark.parametrize("reads_wait", [False, True])
def test_an_endpoint_that_is_busy_to_the_end_counts_as_open(reads_wait):
    lab = Lab(endpoint_reads_wait=reads_wait)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0x01"))
    operator, reader = Client(lab), Client(lab)
    start(operator, wait=5)
    reader.execute(
        "BEGIN TRANSACTION; DECLARE @h uniqueidentifier; RECEIVE TOP (1) @h = "
        "conversation_handle FROM audit.TargetQueue; END CONVERSATION @h;"
    )
    lab.advance(7)
    value, report = outcome(operator)
    assert value == 1 and report["endpoints open"] >= 1
    reader.execute("ROLLBACK;")


def test_it_keeps_its_time_though_it_looks_less_and_less_often(lab):
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0x01"))
    operator = Client(lab)
    start(operator, wait=30)
    steps = [lab.advance(step) or operator.out.finished for step in (0.2, 29.7, 0.2)]
    assert steps == [False, False, True]
    value, report = outcome(operator)
    assert (value, report["endpoints open"]) == (1, 2)


def test_a_caller_whose_cursors_close_on_commit_can_drain(lab):
    for _ in range(3):
        Client(lab).execute(send("0x01"))
    operator = Client(lab)
    operator.execute("SET CURSOR_CLOSE_ON_COMMIT ON;")
    start(operator)
    lab.advance(10)
    value, report = outcome(operator)
    assert (value, report["dialogs closed"]) == (0, 3)


def test_what_a_gone_dialog_has_left_and_is_too_large_is_named_with_what_it_takes():
    """It calls usp_ResendStranded itself, which leaves a dialog with more than the limit alone."""
    lab = Lab(configured(operations={"resend_limit": 2}))
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1") + send("0xA2") + send("0xA3"))
    for (handle,) in lab.rows("SELECT conversation_handle FROM sys.conversation_endpoints;"):
        lab.rows(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    client = Client(lab)
    start(client, 5)
    lab.advance(10)
    assert outcome(client)[0] == 1
    found = client.out.result_sets[0].rows
    (detail,) = [row[2] for row in found if row[0] == "messages not landed"]
    assert "room in the log for about three times its bytes" in detail
    lab.rows(detail[detail.index("EXECUTE ") : detail.index(" One dialog is large")])
    assert drain(lab)[0] == 0
    assert lab.bodies() == [b"\xa1", b"\xa2", b"\xa3"]


def test_what_waits_on_an_open_dialog_is_not_said_to_be_gone(lab):
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1"))
    client = Client(lab)
    start(client, 5)
    lab.advance(10)
    found = client.out.result_sets[0].rows
    (detail,) = [row[2] for row in found if row[0] == "messages not landed"]
    assert detail == "10000: or more; see vw_Unlanded; their dialogs are open still"


def test_copies_that_somebody_is_just_moving_are_not_taken_for_gone():
    """1. No dialog is open, a copy of a gone one is left. 2. Somebody takes it away, and has not
    committed. 3. The drain looks. 4. He rolls back.
    """
    lab = Lab()
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1"))
    for (handle,) in lab.rows("SELECT conversation_handle FROM sys.conversation_endpoints;"):
        lab.rows(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    somebody = Client(lab)
    somebody.execute("BEGIN TRANSACTION; DELETE FROM audit.SentMessage;")
    assert drain(lab, 10, wait=5)[0] == 1
    somebody.execute("ROLLBACK TRANSACTION;")
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    assert drain(lab)[0] == 0
    assert lab.bodies() == [b"\xa1"]


def test_out_of_time_the_gate_is_open_again_unless_told_to_keep_it_closed(lab):
    sender = Client(lab)
    sender.execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    gate = "SELECT IsOpen, Reason FROM audit.Gate;"
    value, report = drain(lab, seconds=5, wait=2)
    assert value == 1 and "gate open again" in report
    assert lab.rows(gate) == [(True, "the drain did not finish")]
    sender.execute(send("0x02"))
    client = Client(lab)
    client.submit(DRAIN.format(2).replace("@WhatIf", "@keepClosed = 1, @WhatIf"))
    lab.advance(5)
    value, report = outcome(client)
    assert value == 1 and "gate closed" in report
    assert lab.rows(gate) == [(False, "test")]
    assert drain(lab, seconds=5, wait=2)[0] == 1
    assert lab.rows(gate) == [(False, "test")], "it was closed before"


def test_a_transaction_that_was_forgotten_keeps_nobody_out_and_is_named(lab):
    """1. A sender's transaction is open for half a minute. 2. The drain looks, and waits for it with
    the gate open. 3. Out of time it says who it was."""
    sender, other, operator = Client(lab), Client(lab), Client(lab)
    sender.execute("BEGIN TRANSACTION;" + send("0x01"))
    lab.advance(30)
    start(operator, wait=20)
    for _ in range(6):
        lab.advance(3)
        other.execute(send("0x02"))
    lab.advance(5)
    value, report = outcome(operator)
    assert value == 1 and "gate still open" in report
    (who,) = [row[2] for row in operator.out.result_sets[0].rows if row[0] == "in the way"]
    assert f"session {sender.session.id} (login sa, host" in who
    assert f"session {other.session.id} " not in who
    assert lab.rows("SELECT 1 FROM audit.OperatorLog;") == []
    sender.execute("COMMIT;")
    assert drain(lab)[0] == 0


def test_who_holds_something_is_shown_by_whatif_and_only_to_who_may_see_it(lab):
    sender = Client(lab)
    sender.execute("BEGIN TRANSACTION;" + send("0x01"))

    def shown(call: str) -> list[str]:
        lab.sa.submit(call)
        lab.advance(3)
        assert lab.sa.out.finished and lab.sa.errors == []
        return [d for o, _, d in lab.sa.out.result_sets[-1].rows if o == "in the way"]

    (told,) = shown("EXECUTE audit.usp_Drain;")
    assert f"session {sender.session.id} " in told
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    (told,) = shown("EXECUTE AS USER = N'ops'; EXECUTE audit.usp_Drain; REVERT;")
    assert told == "sessions that cannot be named to you without VIEW SERVER STATE"
    sender.execute("COMMIT;")


@pytest.mark.parametrize("key", KEYS)
def test_an_error_on_the_way_opens_the_gate_again(key):
    lab = Lab(configured(conversation={"key": key, "recycle": usual_recycle(key)}))
    lab.sa.execute(
        "CREATE OR ALTER PROCEDURE audit.usp_WaitForEnds @deadline datetime2(3), @resend bit = 0, "
        "@open bigint OUTPUT, @copies bigint OUTPUT AS THROW 51205, N'You are the victim.', 1;"
    )
    assert lab.sa.fail("EXECUTE audit.usp_Drain @reason = N'x', @WhatIf = 0;") == 51205
    assert lab.rows("SELECT IsOpen FROM audit.Gate;") == [(True,)]
    assert lab.rows("SELECT @@TRANCOUNT;") == [(0,)]
