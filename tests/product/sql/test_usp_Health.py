"""usp_Health and the views behind it: each fault is found, and a healthy installation is quiet.

Feature monitoring: queries (Rusanu, Apress), send count, log and error tables, stats; none of them says
what to do. NSB#481, NSB#605: nothing here counts a queue.
"""

import re

import pytest

from redial.render import render

from .lab import AUDIT, Client, Lab, configured, send

HEALTH = "EXECUTE audit.usp_Health;"


@pytest.fixture
def lab():
    lab = Lab()
    Client(lab).execute(send("0x01"))
    lab.advance(5)
    return lab


def found(lab: Lab) -> dict[str, int]:
    """Priority by finding."""
    return {finding: priority for priority, finding, _, _, _ in reversed(lab.rows(HEALTH))}


def test_a_healthy_installation_has_figures_only(lab):
    report = lab.rows(HEALTH)
    assert {priority for priority, *_ in report} == {200}
    assert all(advice for *_, advice in report)
    assert lab.rows("DECLARE @r int; EXECUTE @r = audit.usp_Health; SELECT @r;") == [(200,)]


FAULTS = {
    "a queue that is off": ("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;", "queue off", 1),
    "activation that is off": (
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);",
        "activation off",
        1,
    ),
    "other readers than configured": (
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (MAX_QUEUE_READERS = 1);",
        "queue differs from configuration",
        50,
    ),
    "retention": (
        "ALTER QUEUE audit.TargetQueue WITH RETENTION = ON;",
        "queue differs from configuration",
        50,
    ),
    "poison handling that is off": (
        "ALTER QUEUE audit.TargetQueue WITH POISON_MESSAGE_HANDLING (STATUS = OFF);",
        "queue differs from configuration",
        50,
    ),
    "a module user that cannot see what is pending": (
        "ALTER ROLE db_owner DROP MEMBER audit_module;",
        "pending messages not visible",
        10,
    ),
    "a service of another owner": (
        "ALTER AUTHORIZATION ON SERVICE::[//redial/audit/initiator] TO dbo;",
        "service owned by another",
        10,
    ),
    "a closed gate": ("UPDATE audit.Gate SET IsOpen = 0;", "gate closed", 10),
    "dead letters": (
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence) "
        "VALUES (N'target', NEWID(), 0);",
        "dead letters unhandled",
        10,
    ),
    "errors": ("EXECUTE audit.usp_LogError N'x', @message = N'y';", "errors in the last hour", 50),
    "poison": (
        "EXECUTE audit.usp_RecordPoison '11111111-1111-1111-1111-111111111111', 0, N'x';",
        "poison messages",
        50,
    ),
    "a row whose dialog is gone": (
        "INSERT INTO audit.SessionConversations (ConfigId, ConversationKey, Handle) "
        "VALUES (1, N'x', NEWID());",
        "leaked conversations",
        50,
    ),
    "a dialog nobody finds": (
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        "TO SERVICE N'//redial/audit/target' ON CONTRACT [//redial/audit/contract];",
        "leaked conversations",
        50,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(lab, fault):
    """Feature monitoring: thread ST#161, a queue that eats the disk; a line and advice for each."""
    sql, finding, priority = FAULTS[fault]
    lab.sa.execute(sql)
    assert found(lab)[finding] == priority


def test_pending_messages_are_told_apart_by_what_is_in_the_way(lab):
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    Client(lab).execute(send("0x02"))
    lab.advance(400)
    ((kind, waiting),) = lab.rows("SELECT StatusKind, WaitingSeconds FROM audit.vw_Pending;")
    assert kind == "queue off" and waiting >= 400
    assert found(lab)["messages pending"] == 10


def test_a_broker_that_is_off_is_the_first_line(lab):
    lab.sa.execute("ALTER DATABASE CURRENT SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;")
    priority, finding, *_ = lab.rows(HEALTH)[0]
    assert (priority, finding) == (1, "broker off")


def test_a_reader_that_ended_without_receive_is_found_by_who_may_look(lab):
    """D.3 mutant 16: the queue monitor stays NOTIFIED after the stub was mended."""
    lab.sa.execute("CREATE PROCEDURE audit.stub AS RETURN;")
    lab.sa.execute(
        "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (PROCEDURE_NAME = audit.stub, "
        "EXECUTE AS N'audit_module');"
    )
    Client(lab).execute(send("0x02"))
    lab.advance(5)
    assert found(lab)["activation stuck"] == 1


def test_a_reader_that_hangs_before_its_receive_is_found(lab):
    """The monitor stays NOTIFIED while the task is there: blocked, as a rule."""
    lab.sa.execute(
        "EXECUTE(N'CREATE OR ALTER PROCEDURE audit.usp_TargetActivation AS "
        "WAITFOR DELAY ''00:10:00'';');"
    )
    Client(lab).execute(send("0x02"))
    lab.advance(30)
    assert "reader without RECEIVE" not in found(lab)
    lab.advance(60)
    report = found(lab)
    assert report["reader without RECEIVE"] == 10
    assert "activation stuck" not in report


@pytest.mark.parametrize(
    "activation, priority, figure",
    [
        (
            "PROCEDURE_NAME = audit.stub, EXECUTE AS N'audit_module'",
            10,
            "audit].[stub] as audit_mod",
        ),
        ("EXECUTE AS N'dbo'", 10, "usp_TargetActivation] as dbo"),
        ("PROCEDURE_NAME = audit.gone, EXECUTE AS N'audit_module'", 1, "(missing) as audit_module"),
    ],
)
def test_a_queue_whose_reader_is_another_or_gone_is_found(activation, priority, figure):
    lab = Lab(missing_activation_procedure="allow")
    lab.sa.execute("CREATE PROCEDURE audit.stub AS RETURN;")
    lab.sa.execute(f"ALTER QUEUE audit.TargetQueue WITH ACTIVATION ({activation});")
    ((told, shown),) = [
        (row[0], row[3]) for row in lab.rows(HEALTH) if row[1] == "other activation procedure"
    ]
    assert told == priority and figure in shown


def test_endpoints_are_gone_through_once():
    """A server may have millions of them; ufn_Conversations would hold them all."""
    for config in (AUDIT, configured(conversation={"key": "single", "recycle": "never"})):
        (name,) = [n for n in render(config) if "ufn_HealthConversations" in n]
        code = re.sub(r"/\*.*?\*/", " ", render(config)[name], flags=re.S)
        assert "ufn_Conversations" not in code
        # And the few that have failed; and for all dialogs with old copies at once.
        assert code.count("sys.conversation_endpoints") == 3
        assert code.count("LEFT OUTER HASH JOIN sys.conversation_endpoints") == 1
        loop = code[code.index("WHILE @dialogs") : code.index("END;", code.index("WHILE @dialogs"))]
        assert "conversation_endpoints" not in loop


def test_old_dialogs_and_dialogs_near_the_end_of_their_lifetime_are_named():
    lab = Lab(
        configured(
            timer={"after_seconds": 60, "spread_seconds": 0, "retry_seconds": 1},
            conversation={"lifetime_seconds": 1000, "longest_transaction_seconds": 30},
        )
    )
    Client(lab).execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    lab.advance(950)
    report = found(lab)
    assert report["dialogs older than configured"] == 50
    assert report["dialogs near the end of their lifetime"] == 50


def test_an_encrypted_configuration_without_master_key_is_named():
    lab = Lab(configured(conversation={"encryption": True}))
    assert found(lab)["master key missing"] == 10


def test_an_operator_without_view_server_state_is_told_what_was_not_looked_at(lab):
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    lab.sa.execute("CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    report = lab.rows(f"EXECUTE AS USER = N'ops'; {HEALTH} REVERT;")
    ((where, advice),) = [(r[2], r[4]) for r in report if r[1] == "not looked at"]
    assert where == "queue monitors, running readers"
    assert "VIEW SERVER STATE" in advice
    assert lab.sa.fail(f"EXECUTE AS USER = N'app'; {HEALTH}") == 229
    lab.sa.execute("REVERT;")


def test_an_operator_sees_in_the_views_what_the_owner_sees(lab):
    """Catalog views show him nothing of services and queues: ours read them as the owner."""
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    Client(lab).execute(send("0x02"))
    lab.sa.execute("EXECUTE audit.usp_LogError N'x', @message = N'y';")
    for view, rows in (("Conversations", 3), ("Queues", 2), ("Pending", 1), ("Errors", 1)):
        select = f"SELECT * FROM audit.vw_{view};"
        mine = lab.rows(select)
        assert len(mine) == rows, view
        assert lab.rows(f"EXECUTE AS USER = N'ops'; {select} REVERT;") == mine, view


def test_the_length_of_a_queue_is_shown_and_its_readers_are_not_waited_for(lab):
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    client, reader = Client(lab), Client(lab)
    client.execute(send("0x02"))
    client.execute(send("0x03"))
    reader.execute("BEGIN TRANSACTION; RECEIVE TOP (1) message_body FROM audit.TargetQueue;")
    lengths = dict(lab.rows("SELECT Side, Messages FROM audit.vw_Queues;"))
    assert lengths["initiator"] == 0 and lengths["target"] in (1, 2)
    lab.rows(HEALTH)
    reader.execute("ROLLBACK;")


def test_nothing_that_watches_reads_a_queue_or_a_body():
    """Feature monitoring: NSB#481 and NSB#605, whose count of a long queue stopped the receiver.

    NSB#481: count(*) over a long queue stops the receiver."""
    scripts = {n: t for n, t in render(AUDIT).items() if re.search(r"ufn_|vw_|usp_Health", n)}
    assert len(scripts) >= 12
    for name, text in scripts.items():
        code = re.sub(r"/\*.*?\*/|N?'(?:[^']|'')*'", " ", text, flags=re.S)
        if name.startswith("SHA"):
            continue
        assert "[TargetQueue]" not in code and "[InitiatorQueue]" not in code, name
        assert "message_body" not in code, name


@pytest.mark.parametrize(("limit", "most"), [(3, ""), (2, "@most = 3")])
def test_a_dialog_too_large_for_usp_ResendStranded_is_named_with_what_it_takes(limit, most):
    """Advised without @most the call would leave it alone, and say nothing."""
    lab = Lab(
        configured(
            operations={"resend_limit": limit},
            timer={"after_seconds": 7200, "spread_seconds": 0, "retry_seconds": 5},
        )
    )
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0xA1") + send("0xA2") + send("0xA3"))
    for (handle,) in lab.rows("SELECT conversation_handle FROM sys.conversation_endpoints;"):
        lab.rows(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    lab.rows("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(20)
    over = "messages of dialogs that are over"
    (advice,) = [row[4] for row in lab.rows(HEALTH) if row[1] == over]
    call = re.search(r"EXECUTE (usp_ResendStranded(?: @most = \d+)?)", advice)[1]
    assert call == f"usp_ResendStranded {most}".strip()
    assert ("room in the log for about three times" in advice) == bool(most)
    lab.rows(f"EXECUTE audit.{call};")
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2", b"\xa3"]
