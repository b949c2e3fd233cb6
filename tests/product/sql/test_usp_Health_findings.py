"""Findings of usp_Health that need a story of their own, and that no finding is without a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redial.paths import TEMPLATES
from redial_broker.exec import replicas, trouble
from tests.installed import rendered

from .lab import Client, Lab, configured, send
from .test_usp_Health import found

FIGURES = {"messages in a queue", "readers running", "rows in a table", "version"}
"""Lines that a healthy installation has too."""
FINDING = re.compile(
    r"\s*(?:VALUES \(|SELECT\s+(?:TOP \(1\) )?)(?:\d+|CASE.*?\bEND),\s*(N'[^']+'|CASE.*?\bEND),",
    re.S,
)


def findings() -> set[str]:
    """What usp_Health and its parts can find."""
    named = set()
    for path in TEMPLATES.rglob("*Health*.j2"):
        for block in re.split(r"INSERT INTO [@#]found ", path.read_text("utf-8"))[1:]:
            values = block.partition(")")[2]
            if re.match(r"\s*(SELECT f\.Priority|EXECUTE)", values):
                continue  # the parts put together
            head = FINDING.match(values)
            assert head, f"{path.name}: not understood: {values[:80]}"
            named |= set(re.findall(r"(?:THEN |ELSE |^)N'([^']+)'", head[1]))
    return named


def test_every_finding_is_made_in_a_test():
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("*.py"))
    assert len(findings()) > 30
    assert {name for name in findings() - FIGURES if f'"{name}"' not in tests} == set()


def test_a_database_whose_owner_is_no_login_of_this_server_is_named():
    """As a restore from elsewhere leaves it."""
    lab = Lab()
    assert "database without owner" not in found(lab)
    replicas.lose_owner(lab.instance.server.databases["lab"])
    assert found(lab)["database without owner"] == 10


def test_a_database_with_one_owner_for_the_server_and_another_for_itself_is_named():
    """As a failover leaves it: each server has its own idea of who owns it (33009)."""
    lab = Lab()
    lab.sa.execute("CREATE LOGIN dba WITH PASSWORD = N'Some-Word-1';")
    assert "database with two owners" not in found(lab)
    replicas.lose_owner(lab.instance.server.databases["lab"], lab.sa.value("SUSER_SID(N'dba')"))
    assert found(lab)["database with two owners"] == 10
    assert "database without owner" not in found(lab)


def test_options_that_messages_suffer_from_are_named():
    lab = Lab()
    lab.sa.execute("ALTER DATABASE lab SET DELAYED_DURABILITY = FORCED, AUTO_CLOSE ON;")
    assert found(lab)["committed is not durable"] == 10
    assert found(lab)["database closes by itself"] == 50
    lab.sa.execute("ALTER DATABASE lab SET DELAYED_DURABILITY = ALLOWED, AUTO_CLOSE OFF;")
    assert not {"committed is not durable", "database closes by itself"} & set(found(lab))


def test_rows_that_no_purge_took_in_time_are_named():
    lab = Lab(configured(retention={"landing_days": 1}))
    Client(lab).execute(send("0x01"))
    lab.advance(86_400)
    assert "landed rows past their time" not in found(lab)
    lab.advance(2 * 86_400)
    assert found(lab)["landed rows past their time"] == 50


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
    assert found(lab)["messages that have not landed"] == 50


def test_messages_that_wait_for_the_servers_set_up_are_named_until_it_is_mended():
    lab = Lab()
    assert "messages wait for the server" not in found(lab)
    trouble.begin(lab.instance.database("lab"), trouble.TOO_LONG, ["audit.Landing"], 10)
    Client(lab).execute(send("0x" + "ee" * 11))
    lab.advance(10)
    assert found(lab)["messages wait for the server"] == 1
    trouble.end(lab.instance.database("lab"))
    lab.advance(60)
    assert "messages wait for the server" not in found(lab)
    assert lab.bodies() == [b"\xee" * 11]


def test_a_closed_endpoint_past_its_time_is_tidied_up_last():
    """The stand-in removes them in time, so time passes here without anybody looking."""
    lab = Lab()
    Client(lab).execute(send("0x01"))
    lab.sa.execute(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.advance(10)
    assert "CLOSED past their time" not in found(lab)
    lab.instance.engine.timers.entries.clear()
    lab.instance.clock.advance(31 * 60)
    assert found(lab)["CLOSED past their time"] == 100


def test_a_queue_that_nobody_watches_is_named():
    lab = Lab()
    assert "no queue monitor" not in found(lab)
    lab.sa.execute("ALTER DATABASE CURRENT SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;")
    assert found(lab)["no queue monitor"] == 1


def test_a_queue_that_is_gone_is_named():
    lab = Lab()
    assert "queue missing" not in found(lab)
    lab.sa.execute("DROP SERVICE [//redial/audit/target]; DROP QUEUE audit.TargetQueue;")
    assert found(lab)["queue missing"] == 1


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
    assert {(r[0], r[2]) for r in rows if r[1] == "not looked at"} == {
        (150, "InitiatorQueue"),
        (150, "TargetQueue"),
    }


def test_a_resend_that_activation_leaves_to_an_operator_is_named():
    """More messages than resend_limit on a dialog that its target ended with an Error."""
    lab = Lab(configured(operations={"resend_limit": 2}))
    for queue in ("TargetQueue", "InitiatorQueue"):
        lab.sa.execute(f"ALTER QUEUE audit.{queue} WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0x01") * 3)
    lab.advance(5)
    assert "resend too large for activation" not in found(lab)
    lab.sa.execute(
        "DECLARE @h uniqueidentifier = (SELECT conversation_handle FROM sys.conversation_endpoints "
        "WHERE is_initiator = 0); END CONVERSATION @h WITH ERROR = 1 DESCRIPTION = N'x';"
    )
    lab.advance(5)
    assert found(lab)["resend too large for activation"] == 10


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
    (row,) = [row for row in lab.rows("EXECUTE audit.usp_Health;") if row[1] == "index missing"]
    assert row[:4] == (1, "index missing", f"audit.{table}", index)


def test_an_index_that_somebody_disabled_is_missed_too():
    lab = Lab()
    lab.sa.execute(
        "ALTER INDEX UX_SessionConversations_Handle ON audit.SessionConversations DISABLE;"
    )
    assert found(lab)["index missing"] == 1
