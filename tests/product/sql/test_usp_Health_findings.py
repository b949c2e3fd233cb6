"""Findings of usp_Health with more to tell than their scenario (tests/product/findings)."""

from __future__ import annotations

import re

import pytest

from tests.installed import rendered

from .lab import Client, Lab, configured, send
from .test_usp_Health import found


def test_a_row_dated_ahead_hides_no_row_that_no_purge_took():
    lab = Lab(configured(retention={"landing_days": 1}))
    lab.sa.execute(
        "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, LandedUtc) "
        "VALUES (NEWID(), 0, N'x', DATEADD(day, 365, SYSUTCDATETIME()));"
    )
    Client(lab).execute(send("0x01"))
    lab.advance(3 * 86_400)
    assert found(lab)["landed rows past their time"] == 50


def test_messages_that_do_not_land_are_a_figure_first_and_then_a_finding():
    lab = Lab()
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0x01"))
    lab.advance(290)
    assert found(lab)["messages that have not landed"] == 200
    lab.advance(20)
    assert found(lab)["messages that do not land"] == 50
    assert "messages that have not landed" not in found(lab)


def test_a_queue_whose_length_is_hidden_is_named():
    """F-172: whether its owner sees the table of a queue is unknown."""
    lab = Lab()
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.ufn_Queues'));")
    hidden = text.replace("q.name, le.Messages,", "q.name, NULL,").replace(
        "CREATE ", "CREATE OR ALTER ", 1
    )
    assert hidden.count("NULL, q.is_receive") == 1
    lab.sa.execute(hidden)
    rows = lab.rows("EXECUTE audit.usp_Health;")
    assert {(r[0], r[2]) for r in rows if r[7] == "queue-length-hidden"} == {
        (150, "InitiatorQueue"),
        (150, "TargetQueue"),
    }


NAMED = re.compile(r"\[(\w+)\](?: AS \w+)?\s+WITH \([^)]*?INDEX \(\[(\w+)\]\)")
WIDEST = configured(
    conversation={"delivery": "exactly_once"}, retention={"landing_days": 30, "log_days": 30}
)


@pytest.mark.parametrize(
    ("table", "index"),
    sorted(
        {
            pair
            for name, text in rendered(WIDEST).items()
            if name.endswith((".procedure.sql", ".function.sql", ".trigger.sql"))
            for pair in NAMED.findall(text)
        }
    ),
)
def test_an_index_that_a_statement_names_is_missed_by_that_name(table, index):
    """Somebody recreated a key under another name: each statement that names it fails with 308."""
    lab = Lab(WIDEST)
    assert "index missing" not in found(lab)
    lab.sa.execute(f"EXECUTE sp_rename N'audit.{table}.{index}', N'other', N'INDEX';")
    (row,) = [row for row in lab.rows("EXECUTE audit.usp_Health;") if row[7] == "index-missing"]
    assert row[:4] == (1, "index missing", f"audit.{table}.{index}", "missing")
