"""usp_MarkDeadLetter: letters that need no replay are handled too, with who and why."""

from __future__ import annotations

import pytest

from .lab import Client, Lab, configured, send
from .letters import OTHER, held, letter, put, unhandled
from .two import Two

MARK = "EXECUTE audit.usp_MarkDeadLetter {}, @reason = N'by hand', @WhatIf = 0;"
KEYED = {"key": "application", "order": "key", "recycle": "timer"}
UNLANDED = "SELECT Status, ConversationKey, KeySequence FROM audit.vw_Unlanded ORDER BY 3;"


@pytest.fixture
def lab():
    """Letters 1 and 2 (547), 3 (245), 4 (547, another conversation)."""
    lab = Lab()
    put(lab, letter(), letter(), letter(245), letter(conversation=OTHER))
    return lab


def test_by_default_it_only_shows(lab):
    told = lab.rows("EXECUTE audit.usp_MarkDeadLetter @code = 547;")
    assert told == [(3, 1, 4, 0, "would be accepted")]
    assert unhandled(lab) == [1, 2, 3, 4]


def test_what_is_accepted_is_handled_with_who_when_and_why_and_written_down(lab):
    assert lab.rows(MARK.format("@code = 547")) == [(3, 1, 4, 0, "accepted")]
    assert unhandled(lab) == [3]
    handled = (
        "SELECT DISTINCT HandledBy, Handling, HandlingReason, DATEDIFF(minute, HandledUtc, "
        "SYSUTCDATETIME()) FROM audit.vw_DeadLetters WHERE HandledUtc IS NOT NULL;"
    )
    assert lab.rows(handled) == [("sa", "accepted", "by hand", 0)]
    assert lab.rows("SELECT Action, Detail, Reason, Login FROM audit.OperatorLog;") == [
        ("accept dead letters", "3 from 1 to 4", "by hand", "sa")
    ]


def test_health_and_causes_count_it_as_handled(lab):
    lab.rows(MARK.format("@code = 547"))
    assert lab.rows("SELECT Code, Unhandled FROM audit.vw_DeadLetterCauses ORDER BY 1;") == [
        (245, 1),
        (547, 0),
    ]
    lab.rows(MARK.format("@code = 245"))
    assert "dead-letters" not in [row[7] for row in lab.rows("EXECUTE audit.usp_Health;")]


def test_a_letter_that_was_accepted_is_neither_replayed_nor_accepted_again(lab):
    lab.rows(MARK.format("1, 2"))
    replay = "EXECUTE audit.usp_ReplayDeadLetter 1, 2, @reason = N'x', @WhatIf = 0;"
    assert [row[-1][:18] for row in lab.rows(replay)] == ["kept: accepted at "] * 2
    assert lab.rows(MARK.format("1, 2")) == [(0, None, None, 0, "accepted")]
    assert lab.rows("SELECT COUNT(*) FROM audit.OperatorLog;") == [(1,)]


def test_an_accepted_letter_is_purged_by_age_like_one_that_was_replayed(lab):
    lab.rows(MARK.format("1"))
    purge = "EXECUTE audit.usp_PurgeDeadLetter @olderThanDays = 0, @reason = N'x', @WhatIf = 0;"
    assert lab.rows(purge) == [(1, 1, 1, "removed")]


def test_more_than_a_thousand_go_in_batches_each_with_its_entry():
    lab = Lab()
    put(lab, *[letter()] * 1001)
    assert lab.rows(MARK.format("@code = 547")) == [(1001, 1, 1001, 0, "accepted")]
    assert lab.rows("SELECT Detail FROM audit.OperatorLog ORDER BY OperatorLogId;") == [
        ("1000 from 1 to 1000",),
        ("1 from 1001 to 1001",),
    ]


def test_a_letter_in_use_is_neither_waited_for_nor_marked_and_is_counted(lab):
    other = held(lab, 2)
    assert lab.rows("EXECUTE audit.usp_MarkDeadLetter @code = 547;")[0][3] == 1
    assert lab.rows(MARK.format("@code = 547")) == [(2, 1, 4, 1, "accepted")]
    other.execute("COMMIT;")
    assert unhandled(lab) == [2, 3]
    assert lab.rows(MARK.format("@code = 547")) == [(1, 2, 2, 0, "accepted")]


def test_a_letter_somebody_reads_is_not_waited_for_either(lab):
    reader = Client(lab)
    reader.execute(
        "BEGIN TRANSACTION; SELECT COUNT(*) FROM audit.DeadLetter WITH (REPEATABLEREAD);"
    )
    assert lab.rows(MARK.format("@code = 547"))[0][0] == 0
    reader.execute("COMMIT;")
    assert lab.rows(MARK.format("@code = 547"))[0][0] == 3


def test_a_batch_that_fails_marks_nothing_and_raises(lab):
    lab.rows("CREATE TRIGGER audit.stop ON audit.OperatorLog AFTER INSERT AS THROW 51000, N'x', 1;")
    assert lab.sa.fail(MARK.format("@code = 547")) == 51000
    assert lab.sa.value("@@TRANCOUNT") == 0
    assert unhandled(lab) == [1, 2, 3, 4]


def test_the_number_of_an_accepted_letter_is_given_up_so_nobody_waits_for_it():
    """With order = key it will not land: as where usp_PurgeDeadLetter removes one."""
    lab = Lab(configured(conversation=KEYED))
    lab.rows("ALTER TABLE audit.Landing ADD CONSTRAINT CK_None CHECK (Body <> 0x02);")
    client = Client(lab)
    for body in ("0x01", "0x02", "0x03"):
        client.execute(send(body, key="N'k'"))
    lab.advance(5)
    assert lab.rows(UNLANDED) == [("dead letter", "k", 2)]
    lab.rows(MARK.format("@key = N'k'"))
    assert lab.rows(UNLANDED) == [("given up", "k", 2)]
    purge = "EXECUTE audit.usp_PurgeDeadLetter @olderThanDays = 0, @reason = N'x', @WhatIf = 0;"
    assert lab.rows(purge) == [(1, 1, 1, "removed")]
    assert lab.rows(UNLANDED) == [("given up", "k", 2)], "once, and still there"


def test_the_targets_database_has_it_too():
    two = Two()
    two.depot(
        "ALTER TABLE audit.Landing ADD CONSTRAINT CK_No CHECK (Body IS NULL OR Body <> 0x66);"
    )
    two.send("0x66")
    two.instance.advance(5)
    assert two.depot(MARK.format("@code = 547")) == [(1, 1, 1, 0, "accepted")]
    assert two.depot("SELECT Handling FROM audit.DeadLetter;") == [("accepted",)]


def test_wrong_inputs_are_named_together_and_a_transaction_is_refused(lab):
    wrong = (
        "EXECUTE audit.usp_MarkDeadLetter 5, 4, @fromUtc = '2026-01-02', @toUtc = '2026-01-01', "
        "@key = N'k', @WhatIf = 0;"
    )
    assert lab.sa.fail(wrong) == 50177
    for name in ("@toDeadLetterId", "@fromUtc", "@key", "@reason"):
        assert name in lab.sa.errors[0].text, name
    for nothing in ("@reason = N'x'", "@toDeadLetterId = 4"):
        assert lab.sa.fail(f"EXECUTE audit.usp_MarkDeadLetter {nothing};") == 50177
        assert "@deadLetterId" in lab.sa.errors[0].text
    assert lab.sa.fail("BEGIN TRANSACTION; EXECUTE audit.usp_MarkDeadLetter 1;") == 50178
    lab.rows("IF @@TRANCOUNT > 0 ROLLBACK;")


def test_who_is_no_operator_may_not(lab):
    lab.rows("CREATE USER nobody WITHOUT LOGIN;")
    assert lab.sa.fail(f"EXECUTE AS USER = N'nobody'; {MARK.format('1')}") == 229
    lab.rows("REVERT;")
    lab.rows("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    assert lab.rows(f"EXECUTE AS USER = N'ops'; {MARK.format('1')} REVERT;")[0][0] == 1
