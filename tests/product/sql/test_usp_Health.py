"""usp_Health and the views behind it: each fault is found, and a healthy installation is quiet.

Feature monitoring: queries (Rusanu, Apress), send count, log and error tables, stats; none of them says
what to do. NSB#481, NSB#605: nothing here counts a queue.
"""

import re
import shutil

import pytest

from redial.paths import TEMPLATES
from redial.render import render
from redial.render.renderer import register
from tests.installed import batches, rendered

from .bare import FILE, Bare
from .lab import AUDIT, Client, Lab, configured, send
from .test_ownership import HOSTILE

HEALTH = "EXECUTE audit.usp_Health;"


@pytest.fixture
def lab():
    lab = Lab()
    Client(lab).execute(send("0x01"))
    lab.advance(5)
    return lab


def found(lab: Lab) -> dict[str, int]:
    """Priority by finding."""
    return {finding: priority for priority, finding, *_ in reversed(lab.rows(HEALTH))}


def test_the_worst_comes_first(lab):
    lab.sa.execute("ALTER DATABASE CURRENT SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;")
    priority, finding, *_ = lab.rows(HEALTH)[0]
    assert (priority, finding) == (1, "broker off")
    assert lab.rows("DECLARE @r int; EXECUTE @r = audit.usp_Health; SELECT @r;") == [(1,)]


def test_that_pending_is_shown_by_dialog_is_a_figure_as_long_as_it_was_chosen(lab):
    assert found(lab)["pending dialogs instead of messages"] == 200
    assert "pending messages not visible" not in found(lab)


@pytest.mark.parametrize(
    ("sections", "lost"),
    [
        (
            {"roles": {"module_is_db_owner": True}},
            "ALTER ROLE db_owner DROP MEMBER audit_module;",
        ),
        (
            {"security": {"signing": "certificate"}},
            "DECLARE @sql nvarchar(400) = (SELECT CONCAT(N'DROP SIGNATURE FROM audit.ufn_Pending BY "
            "CERTIFICATE [', name, N'];') FROM sys.certificates); EXECUTE (@sql);",
        ),
    ],
)
def test_a_right_that_was_chosen_and_is_gone_is_a_fault(sections, lost):
    lab = Lab(configured(**sections))
    assert "pending messages not visible" not in found(lab)
    assert "pending dialogs instead of messages" not in found(lab)
    lab.sa.execute(lost)
    assert found(lab)["pending messages not visible"] == 10


def test_pending_messages_are_told_apart_by_what_is_in_the_way(lab):
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    Client(lab).execute(send("0x02"))
    lab.advance(400)
    ((kind, waiting),) = lab.rows("SELECT StatusKind, WaitingSeconds FROM audit.vw_Pending;")
    assert kind == "queue off" and waiting >= 400
    assert found(lab)["pending: queue off"] == 10


@pytest.mark.parametrize(
    "activation, priority, figure",
    [
        (
            "PROCEDURE_NAME = audit.stub, EXECUTE AS N'audit_module'",
            10,
            "audit].[stub] as audit_module",
        ),
        ("EXECUTE AS N'dbo'", 10, "usp_TargetActivation] as dbo"),
        ("PROCEDURE_NAME = audit.gone, EXECUTE AS N'audit_module'", 1, "[audit].[gone]"),
    ],
)
def test_a_queue_whose_reader_is_another_or_gone_is_found(activation, priority, figure):
    lab = Lab(missing_activation_procedure="allow")
    lab.sa.execute("CREATE PROCEDURE audit.stub AS RETURN;")
    lab.sa.execute(f"ALTER QUEUE audit.TargetQueue WITH ACTIVATION ({activation});")
    ((told, shown),) = [
        (row[0], row[3]) for row in lab.rows(HEALTH) if row[7].startswith("activation-procedure-")
    ]
    assert told == priority and figure in shown


def test_endpoints_are_gone_through_once():
    """A server may have millions of them; ufn_Conversations would hold them all."""
    for config in (AUDIT, configured(conversation={"key": "single", "recycle": "never"})):
        (name,) = [n for n in rendered(config) if "_vw_Findings." in n]
        code = re.sub(r"/\*.*?\*/", " ", rendered(config)[name], flags=re.S)
        assert "ufn_Conversations" not in code
        # And the few that have failed; and for all dialogs with old copies at once.
        assert code.count("sys.conversation_endpoints") == 3
        assert code.count("OPTION (FORCE ORDER);") == 1
        loop = code[code.index("WHILE @dialogs") : code.index("END;", code.index("WHILE @dialogs"))]
        assert "conversation_endpoints" not in loop


def test_an_operator_without_view_server_state_is_told_what_was_not_looked_at(lab):
    lab.sa.execute("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    lab.sa.execute("CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    report = lab.rows(f"EXECUTE AS USER = N'ops'; {HEALTH} REVERT;")
    (where, advice), (sessions, script) = [(r[2], r[4]) for r in report if r[7] == "not-looked-at"]
    assert {r[0] for r in report} == {150, 200}, "nothing else is hidden from an operator"
    assert where.startswith("activation stuck, no queue monitor, ")
    assert sessions.startswith("somebody keeps others waiting, ") and "blocking.sql" in script
    assert "VIEW SERVER STATE" in advice
    assert lab.sa.fail(f"EXECUTE AS USER = N'app'; {HEALTH}") == 229
    lab.sa.execute("REVERT;")


@pytest.mark.parametrize("right", ["VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE"])
def test_either_right_on_the_server_is_enough_to_look_at_queue_monitors(lab, right):
    """From 2022 on the views ask for the narrower one (page sys.dm_broker_queue_monitors)."""
    lab.sa.execute(
        "CREATE LOGIN watcher WITH PASSWORD = 'Strong-Word-1'; CREATE USER watcher; "
        f"ALTER ROLE audit_operator ADD MEMBER watcher; USE master; GRANT {right} TO watcher; USE lab;"
    )
    watcher = Client(lab)
    watcher.session = lab.instance.login("watcher", "Strong-Word-1", "lab")
    assert "not looked at" not in {row[1] for row in watcher.execute(HEALTH)}


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
    scripts = {n: t for n, t in rendered(AUDIT).items() if re.search(r"ufn_|vw_|usp_Health", n)}
    assert len(scripts) >= 10
    for name, text in scripts.items():
        code = re.sub(r"/\*.*?\*/|N?'(?:[^']|'')*'", " ", text, flags=re.S)
        if name.startswith("SHA"):
            continue
        assert "[TargetQueue]" not in code and "[InitiatorQueue]" not in code, name
        assert "message_body" not in code, name


@pytest.mark.parametrize(("limit", "most"), [(3, ""), (2, "@most = 3, ")])
def test_a_dialog_too_large_for_one_call_is_named_with_what_it_takes(limit, most):
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
    (call,) = [row[5] for row in lab.rows(HEALTH) if row[1] == over]
    assert call.startswith(f"EXECUTE [audit].[usp_Resend] {most}")
    assert ("room in the log for about three times" in advice) == bool(most)
    lab.rows(call)
    lab.advance(5)
    assert lab.bodies() == [b"\xa1", b"\xa2", b"\xa3"]


# ---------------------------------------------------------------------- what it advises
OPS = "CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;"


def test_a_stuck_reader_is_started_again_by_what_is_advised(lab):
    whole = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_TargetActivation'));")[0][0]
    lab.sa.execute("EXECUTE(N'ALTER PROCEDURE audit.usp_TargetActivation AS RETURN;');")
    Client(lab).execute(send("0x02"))
    lab.advance(5)
    lab.sa.execute(OPS + " USE master; GRANT VIEW SERVER STATE TO public; USE lab;")
    (statement,) = [row[5] for row in lab.rows(HEALTH) if row[1] == "activation stuck"]
    assert "@restart = 1" in statement
    lab.sa.execute(whole.replace("CREATE ", "CREATE OR ALTER ", 1))
    lab.sa.execute(f"EXECUTE AS USER = N'ops'; {statement} REVERT;")
    lab.advance(5)
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert "activation stuck" not in found(lab)


def test_a_statement_that_only_others_may_run_says_so():
    """ALTER, CREATE, GRANT in a statement stand with who may do it; an operator's is a call of ours."""
    for one in register(AUDIT).findings:
        altering = re.search(r"\b(ALTER|CREATE|GRANT|DROP) [A-Z]{4}", one.query)
        if altering:
            assert one.who and one.who != "a member of audit_operator", one.id


BROKEN = {
    "an index is missing": (
        "DROP INDEX UX_SessionConversations_Handle ON audit.SessionConversations;",
        {"endpoints by state", "leaked conversations"},
    ),
    "a table is missing": (
        "DROP TABLE audit.PoisonAttempt;",
        {"messages wait for the server", "poison messages", "everything is refused"},
    ),
    "a view's function is missing": (
        "DROP VIEW audit.vw_Queues; DROP FUNCTION audit.ufn_Queues;",
        {"queues"},
    ),
    "the right to see pages is missing": (
        "CREATE OR ALTER FUNCTION audit.ufn_QueuePages() RETURNS @pages TABLE (QueueName "
        "nvarchar(128) NOT NULL, Pages bigint NULL, FragmentationPercent float NULL) AS BEGIN "
        "INSERT INTO @pages SELECT N'x', 1 / 0, 0; RETURN; END;",
        {"queue out of order"},
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_whatever_is_missing_is_said_and_the_rest_is_reported(lab, what):
    """It died with 308 when the Handle index was missing, and said nothing of anything else."""
    sql, parts = BROKEN[what]
    lab.sa.execute("UPDATE audit.Gate SET IsOpen = 0;")
    lab.sa.execute(sql)
    report = lab.rows(HEALTH)
    told = {row[2].split(", ")[0]: row[3:5] for row in report if row[1] == "not looked at"}
    assert set(told) == parts, "and behind it what depends on it"
    for figure, advice in told.values():
        assert figure.startswith("error ") and "whoever deploys does so again" in advice
    assert "gate closed" in {row[1] for row in report}
    assert "version" in {row[1] for row in report}


def test_what_depends_on_a_look_that_failed_is_named_with_it(lab):
    lab.sa.execute("DROP VIEW audit.vw_Queues; DROP FUNCTION audit.ufn_Queues;")
    (titles,) = [row[2] for row in lab.rows(HEALTH) if row[7] == "not-looked-at"]
    assert titles.startswith("queues, activation off, ") and titles.endswith(", readers running")


def test_a_queue_out_of_order_is_named_with_what_puts_it_in_order(lab):
    """The embedded broker has no pages: what the server would say stands in for it."""
    lab.sa.execute(
        "CREATE OR ALTER FUNCTION audit.ufn_QueuePages() RETURNS @pages TABLE (QueueName "
        "nvarchar(128) NOT NULL, Pages bigint NULL, FragmentationPercent float NULL) AS BEGIN "
        "INSERT INTO @pages VALUES (N'TargetQueue', 50000, 98.5), (N'InitiatorQueue', 900, 99); "
        "RETURN; END;"
    )
    ((priority, name, figure, statement),) = [
        (row[0], row[2], row[3], row[5])
        for row in lab.rows(HEALTH)
        if row[1] == "queue out of order"
    ]
    assert (priority, name, figure) == (50, "TargetQueue", "50000 pages, 98 % out of order")
    lab.sa.execute(OPS + f"EXECUTE AS USER = N'ops'; {statement} REVERT;")
    assert lab.rows("SELECT Action, Detail FROM audit.OperatorLog;") == [
        ("reorganize queue", "TargetQueue")
    ]


def test_names_with_quotes_and_brackets_are_quoted_in_what_is_advised():
    hostile = Bare()
    hostile.deploy(HOSTILE)
    schema = "[sch]]ema'; DROP TABLE x--]"
    queue = "[Tar]]'get]"
    hostile.run([f"ALTER QUEUE {schema}.{queue} WITH STATUS = OFF;"])
    report = hostile.rows(f"EXECUTE {schema}.usp_Health;")
    (statement,) = [row[5] for row in report if row[1] == "queue off"]
    hostile.run([statement])
    report = hostile.rows(f"EXECUTE {schema}.usp_Health;")
    assert {row[0] for row in report} == {200}


def test_a_migration_that_was_not_applied_is_found(tmp_path):
    """No version has one yet: the next one's is made up, and its row taken away."""
    templates = tmp_path / "templates"
    shutil.copytree(TEMPLATES, templates)
    (templates / "core" / "35_migrations" / "01_Extra.migration.sql.j2").write_text(
        "INSERT INTO {{ own('Migration') }} (Number, Name) VALUES (1, N'Extra');\nGO\n"
    )
    bare = Bare()
    files = render(AUDIT, tmp_path)
    bare.run([sql for name in files if FILE.fullmatch(name) for sql in batches(files[name])])
    assert "migration missing" not in {row[1] for row in bare.rows(HEALTH)}
    bare.run(["DELETE FROM audit.Migration;"])
    ((priority, advice, statement),) = [
        (row[0], row[4], row[5]) for row in bare.rows(HEALTH) if row[1] == "migration missing"
    ]
    assert priority == 10 and "deploying applies them" in advice and statement is None
