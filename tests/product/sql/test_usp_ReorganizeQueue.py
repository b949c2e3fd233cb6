"""usp_ReorganizeQueue: an operator puts a queue's pages in order, and sees figures that read no body.

The embedded broker has no pages: it takes the statements and their locks. What they change on a server
is the documentation's word (F-500, F-501).
"""

from __future__ import annotations

import re

import pytest

from tests.installed import rendered

from .lab import AUDIT, Client, Lab, send

CALL = "EXECUTE audit.usp_ReorganizeQueue"


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0x" + "AB" * 7000) + send("0x" + "CD" * 7000))
    return lab


def as_operator(lab: Lab, sql: str) -> list[tuple]:
    return lab.rows(f"EXECUTE AS USER = N'ops'; {sql}; REVERT;")


def test_by_default_it_shows_messages_pages_and_order_to_an_operator(lab):
    shown = {row[0]: row[1:] for row in as_operator(lab, CALL)}
    assert shown["TargetQueue"] == ("about 2 messages, 2 pages, 0 % out of order", "would be done")
    assert shown["InitiatorQueue"][0].startswith("about 0 messages, 0 pages")
    assert lab.rows("SELECT 1 FROM audit.OperatorLog;") == []


@pytest.mark.parametrize("rebuild", [0, 1])
def test_it_does_it_and_no_message_is_lost(lab, rebuild):
    done = as_operator(lab, f"{CALL} @rebuild = {rebuild}, @reason = N'backlog', @WhatIf = 0")
    assert [row[2] for row in done] == ["done", "done"]
    log = lab.rows("SELECT Action, Detail, Reason FROM audit.OperatorLog ORDER BY Detail;")
    assert log == [("reorganize queue", q, "backlog") for q in ("InitiatorQueue", "TargetQueue")]
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)
    assert len(lab.bodies()) == 2


def test_it_waits_for_a_reader_two_seconds_at_a_time(lab):
    reader, operator = Client(lab), Client(lab)
    reader.execute("BEGIN TRANSACTION; RECEIVE TOP (1) message_body FROM audit.TargetQueue;")
    operator.submit(f"{CALL} N'TargetQueue', @waitSeconds = 60, @reason = N'x', @WhatIf = 0;")
    lab.advance(5)
    assert not operator.out.finished
    reader.execute("ROLLBACK;")
    lab.advance(3)
    assert [row[2] for row in operator.out.result_sets[0].rows] == ["done"]


def test_a_right_that_is_missing_is_said_and_stops_nothing(lab):
    lab.sa.execute(
        "CREATE OR ALTER FUNCTION audit.ufn_QueuePages() RETURNS @pages TABLE (QueueName "
        "nvarchar(128) NOT NULL, Pages bigint NULL, FragmentationPercent float NULL) AS BEGIN "
        "INSERT INTO @pages SELECT N'x', 1 / 0, 0; RETURN; END;"
    )
    done = as_operator(lab, f"{CALL} @reason = N'x', @WhatIf = 0")
    assert all("pages not seen: " in row[1] and row[2] == "done" for row in done)


def test_its_figures_read_no_message():
    """Mode LIMITED reads the pages above the leaves only."""
    files = rendered(AUDIT)
    text = files["65_01_ufn_QueuePages.function.sql"]
    assert "N'LIMITED'" in text and "SAMPLED" not in text and "DETAILED" not in text
    for name in ("65_01_ufn_QueuePages.function.sql", "78_usp_ReorganizeQueue.procedure.sql"):
        code = re.sub(r"/\*.*?\*/|N?'(?:[^']|'')*'", " ", files[name], flags=re.S)
        assert "FROM [audit].[TargetQueue]" not in code and "message_body" not in code


def test_wrong_inputs_are_named_and_a_transaction_is_refused(lab):
    assert lab.sa.fail(f"{CALL} N'no', @WhatIf = 0;") == 50280
    assert lab.sa.fail(f"BEGIN TRANSACTION; {CALL};") == 50281
    assert lab.sa.value("XACT_STATE()") == 1
    lab.sa.execute("ROLLBACK;")
