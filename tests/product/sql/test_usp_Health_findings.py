"""Findings of usp_Health with more to tell than their scenario (tests/product/findings)."""

from __future__ import annotations

import re

import pytest

from tests.installed import rendered

from .lab import Client, Lab, configured, send
from .letters import letter, put, unhandled
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


OPERATOR = "CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;"


def dead_letters(lab: Lab) -> tuple[str, str, str] | None:
    """Figure, advice and statement of the finding."""
    rows = [row for row in lab.rows("EXECUTE audit.usp_Health;") if row[7] == "dead-letters"]
    return (rows[0][3], rows[0][4], rows[0][5]) if rows else None


def test_dead_letters_are_counted_by_cause_and_the_statement_replays_the_biggest():
    """40,000 refusals were "at least 10000", without a cause. One cause after the other is mended."""
    lab = Lab()
    lab.rows(OPERATOR)
    put(
        lab,
        *(letter(245, f"It's {n}% of [all] '{n}'", sequence=n) for n in range(3)),
        letter(None, None, sequence=4, added="2025-12-31T00:00:00"),
    )
    figure, advice, statement = dead_letters(lab)
    assert figure == "4 in 2 causes, most (3) code 245, first 2025-12-31 00:00:00 UTC"
    assert advice.startswith(
        "3 have code 245 and type //redial/audit/event, as: It's 0% of [all] '0' "
        "vw_DeadLetterCauses"
    )
    assert "usp_MarkDeadLetter" in advice
    lab.rows(f"EXECUTE AS USER = N'ops'; {statement} REVERT;")
    assert unhandled(lab) == [4]
    figure, advice, statement = dead_letters(lab)
    assert figure == "1 in 1 cause, most (1) no code, first 2025-12-31 00:00:00 UTC"
    assert advice.startswith("1 have no code and type //redial/audit/event. ")
    lab.rows(f"EXECUTE AS USER = N'ops'; {statement} REVERT;")
    assert dead_letters(lab) is None


def test_dead_letters_are_at_least_as_many_only_where_it_stopped():
    """Three stand for fifty thousand."""
    lab = Lab()
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.vw_Findings'));")
    fewer = text.replace("TOP (50001)", "TOP (4)").replace("InAll > 50000", "InAll > 3")
    lab.rows(fewer.replace("CREATE ", "CREATE OR ALTER ", 1))
    put(lab, *[letter()] * 3)
    assert dead_letters(lab)[0].startswith("3 in 1 cause,")
    put(lab, letter(), letter())
    figure, advice, _ = dead_letters(lab)
    assert figure.startswith("at least 50000 in ") and advice.startswith("Of the first 50000, ")


def test_a_cause_too_long_for_a_statement_leads_to_the_view():
    """A column of 1,000 characters. Nine stand for them."""
    lab = Lab()
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.vw_Findings'));")
    fewer = text.replace("LEN(s.Statement) <= 1000", "LEN(s.Statement) <= 9")
    assert fewer != text
    lab.rows(fewer.replace("CREATE ", "CREATE OR ALTER ", 1))
    put(lab, letter(547, "[" * 3000, kind="'" * 256))
    _, advice, statement = dead_letters(lab)
    assert len(advice) <= 1000
    assert statement == "SELECT * FROM [audit].[vw_DeadLetterCauses];"
    assert len(lab.rows(statement)) == 1
