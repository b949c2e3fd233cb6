"""Rules of docs/origins.md (locks, accounting) that can be read off the rendered text."""

import re

import pytest

from redial.cli.configs import chosen, load_named
from tests.installed import rendered

from ..texts import called_from_outside, code
from .lab import configured

NAMES = chosen(None)
SCRIPTS = rendered(load_named("audit"))
PROCEDURES = {
    name.split(".")[0].split("_", 1)[1].lstrip("0123456789_"): text
    for name, text in SCRIPTS.items()
    if ".procedure." in name
}
BY_HANDLE = ("usp_RecycleConversation", "usp_EndLeakedOne")
ACTIVATED = ("usp_SenderActivation", "usp_TargetActivation")
ON_R = re.compile(
    r"(SELECT|DELETE|UPDATE|INSERT INTO)\b(?:(?!;).)*?"
    r"\[audit\]\.\[SessionConversations\](?:(?!;).)*;",
    re.S,
)


def statements_on_r(name: str) -> list[str]:
    return [m.group() for m in ON_R.finditer(code(PROCEDURES[name]))]


def seeks_one_index(statement: str) -> bool:
    """By FORCESEEK; where the condition fits the key's index and that of Handle, one is named."""
    both = "sc.ConfigId = " in statement and re.search(r"sc\.Handle = @", statement)
    return bool(re.search(r"INDEX \(\[\w+\]\), FORCESEEK" if both else r"\bFORCESEEK\b", statement))


def by_handle(name: str) -> list[str]:
    """Statements that find the row by Handle alone."""
    found = [s for s in statements_on_r(name) if re.search(r"\bsc\.Handle = ", s)]
    return [s for s in found if "sc.ConfigId" not in s]


def test_every_procedure_runs_as_the_one_module_user():
    """Where others call it, by grant or by activation: what those call runs as that user already.
    usp_Mark does for a deployer what only a deployer may, and is granted to nobody."""
    outside = called_from_outside(SCRIPTS)
    assert {"usp_Send", "usp_Drain", "usp_SenderActivation"} <= outside
    for name in outside:
        assert "WITH EXECUTE AS N'audit_module'" in PROCEDURES[name], name
    assert "EXECUTE AS" not in code(PROCEDURES["usp_Mark"])
    assert not any("[usp_Mark]" in text for name, text in SCRIPTS.items() if name[:2] == "85")


@pytest.mark.parametrize(
    "name", ["usp_AcquireConversation", "usp_RecycleConversation", "usp_BeginConversation"]
)
def test_every_access_to_the_row_seeks_and_names_the_index_where_two_would_do(name):
    found = statements_on_r(name)
    assert found
    for statement in found:
        if statement.startswith("INSERT"):
            continue
        assert seeks_one_index(statement), statement


def test_the_handle_index_is_only_read_and_only_by_the_resolving_step():
    for name in PROCEDURES:
        assert len(by_handle(name)) == (1 if name in BY_HANDLE else 0), name
    for name in BY_HANDLE:
        (reading,) = by_handle(name)
        assert reading.startswith("SELECT") and "UPDLOCK" not in reading and "NOWAIT" in reading


def test_every_write_of_the_row_goes_by_its_clustered_key_and_checks_the_handle_again():
    for name in PROCEDURES:
        for statement in statements_on_r(name):
            if statement.startswith(("DELETE", "UPDATE")):
                assert "sc.ConfigId = 1" in statement, name
                assert "sc.ConversationKey = @" in statement, name
                assert "sc.Handle = @" in statement, name
                assert "INDEX ([PK_SessionConversations])" in statement, name


def test_the_sender_takes_the_row_with_updlock_and_writes_it_after_the_message():
    text = code(PROCEDURES["usp_Send"])
    (count,) = re.findall(r"UPDATE sc\s.*?;", text, re.S)
    assert "OUTPUT" in count and "INTO [audit].[SentMessage]" in count
    assert text.index("SEND ON CONVERSATION") < text.index("SET XACT_ABORT ON;\n            UPDATE")
    assert text.index("usp_AcquireConversation") < text.index(count)
    (look_up,) = [
        s
        for s in statements_on_r("usp_AcquireConversation")
        if s.startswith("SELECT") and "DELETE" not in s
    ]
    assert "UPDLOCK, ROWLOCK" in look_up
    assert "NOWAIT" not in look_up and "READPAST" not in look_up


def test_the_activated_procedure_touches_no_row_itself():
    assert statements_on_r("usp_SenderActivation") == []
    assert statements_on_r("usp_ResendPending") == []
    assert statements_on_r("usp_MoveCopies") == []
    assert statements_on_r("usp_ResendStranded") == []
    assert statements_on_r("usp_ArmTimer") == []


def test_transaction_one_is_committed_before_transaction_two_is_called():
    text = code(PROCEDURES["usp_SenderActivation"])
    calls = [m.start() for m in re.finditer(r"EXECUTE (@result = )?\[audit\]\.\[usp_Recycle", text)]
    assert len(calls) == 2
    for call in calls:
        before = text[:call]
        committed = before.rindex("COMMIT TRANSACTION")
        assert committed > before.rindex("BEGIN TRANSACTION")
        between = before[committed:]
        assert "EXECUTE" not in between


def test_transaction_two_takes_the_row_before_the_group_and_waits_for_it_only_when_told_to():
    text = code(PROCEDURES["usp_RecycleConversation"])
    assert text.index("DELETE sc") < text.index("EXECUTE [audit].[usp_SendEndOfStream]")
    assert "@waitMs int = 0" in text
    reading, writing = statements_on_r("usp_RecycleConversation")
    assert "NOWAIT" in reading
    at = text.index(writing)
    assert text[:at].rstrip().endswith("SET LOCK_TIMEOUT @waitMs;")
    behind = text[at + len(writing) :]
    assert behind.index("SET LOCK_TIMEOUT @lockTimeout;") < behind.index("EXECUTE")
    others = {
        "usp_SenderActivation",
        "usp_RecycleConversation",
        "usp_ResendPending",
        "usp_MoveCopies",
        "usp_ResendStranded",
        "usp_ResendLeft",
        "usp_EndInitiator",
    }  # the target's group
    for name in PROCEDURES.keys() - others:
        assert "@waitMs" not in code(PROCEDURES[name]), name


def test_end_of_stream_is_sent_by_who_took_the_row_and_on_resend_dialogs_only():
    senders = {n: code(t).count("MESSAGE TYPE [EndOfStream]") for n, t in PROCEDURES.items()}
    assert {n: c for n, c in senders.items() if c} == {
        "usp_SendEndOfStream": 1,
        "usp_SendPrivately": 1,
    }
    callers = {
        n for n, t in PROCEDURES.items() if "EXECUTE [audit].[usp_SendEndOfStream]" in code(t)
    }
    assert callers == {
        "usp_RecycleConversation",
        "usp_AcquireConversation",  # of the row it owns, near the end of its lifetime
        "usp_EndLeakedOne",  # dialogs no row leads to, checked under G
    }


def test_what_has_not_landed_goes_on_in_the_transaction_that_ends_the_dialog():
    """The target's side is ended before the copies are read, and all of it or nothing goes on."""
    text = code(PROCEDURES["usp_ResendPending"])
    assert (
        text.index("BEGIN TRANSACTION")
        < text.index("END CONVERSATION @handle")
        < text.index("[usp_MoveCopies]")
        < text.rindex("COMMIT TRANSACTION")
    )
    text = code(PROCEDURES["usp_MoveCopies"])
    assert (
        text.index("END CONVERSATION @target")
        < text.index("INSERT INTO @rows")
        < text.index("DELETE sm")
        < text.index("WHILE @left > 0")
        < text.index("[usp_SendPrivately]")
        < text.index("SELECT @left -= @sent")
    )
    assert text.rindex("SET XACT_ABORT ON;") < text.index("INSERT INTO @rows")
    assert "SET XACT_ABORT OFF" not in text[text.index("INSERT INTO @rows") :]
    assert "ORDER BY sm.MessageSequence;" in text
    assert "COMMIT" not in text and "@@TRANCOUNT = 0" in text
    assert "@body varbinary(max)" in code(PROCEDURES["usp_SendPrivately"])


def test_nobody_decides_by_what_the_transmission_queue_shows():
    """It is empty to who is no db_owner (F-113), and a row of it may have landed (F-110).

    usp_EndLeakedOne copies what waits for a service that is missing, as a caller who sees it.
    """
    readers = {n for n, t in PROCEDURES.items() if "sys.transmission_queue" in code(t)}
    assert readers == {"usp_EndLeakedOne"}
    text = code(PROCEDURES["usp_EndLeakedOne"])
    assert text.count("sys.transmission_queue") == 1
    reading = text.index("sys.transmission_queue")
    assert text.rindex("EXECUTE AS CALLER;", 0, reading) > text.rindex(
        "IF @isOwner = 0", 0, reading
    )
    assert text.index("REVERT;", reading) < text.index("INSERT INTO [audit].[DeadLetter]")


def test_nobody_but_the_operators_procedure_uses_cleanup():
    users = {n for n, t in PROCEDURES.items() if "WITH CLEANUP" in code(t)}
    assert users == {"usp_EndLeakedOne"}
    assert "@WhatIf bit = 1" in PROCEDURES["usp_EndLeakedOne"]
    callers = {n for n, t in PROCEDURES.items() if "[usp_EndLeakedOne] @" in code(t)}
    assert callers == {"usp_EndLeaked"}
    assert "@WhatIf bit = 1" in PROCEDURES["usp_EndLeaked"]


@pytest.mark.parametrize("name", ACTIVATED)
def test_an_activated_procedure_casts_nothing_while_receiving(name):
    for receive in re.findall(r"RECEIVE TOP.*?;", code(PROCEDURES[name]), re.S):
        assert not re.search(r"\b(CAST|CONVERT)\b", receive)


def test_nothing_writes_to_the_server_log():
    for name, text in PROCEDURES.items():
        assert "RAISERROR" not in code(text), name


@pytest.mark.parametrize("name", [*ACTIVATED, "usp_Send", "usp_RecycleConversation"])
def test_read_committed_is_set_by_the_procedure_itself(name):
    text = code(PROCEDURES[name])
    setting = text.index("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    assert setting < text.index("BEGIN TRANSACTION")


def test_dialogs_are_related_to_nothing():
    for name, text in PROCEDURES.items():
        assert not re.search(r"RELATED_CONVERSATION|MOVE CONVERSATION", code(text)), name


def test_of_the_tables_senders_write_the_target_touches_copies_only_and_each_by_its_key():
    text = code(PROCEDURES["usp_TargetActivation"])
    tables = set(re.findall(r"\[audit\]\.\[(\w+)\]", text))
    assert tables.isdisjoint({"SessionConversations", "ConversationLog"})
    (deletion,) = re.findall(r"DELETE sm\b.*?;", text, re.S)
    assert text.count("[SentMessage]") == 1 and "LOOP JOIN" in deletion
    assert (
        "sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence" in deletion
    )


def test_nothing_may_be_put_on_the_table_of_copies_that_output_into_refuses():
    text = code(SCRIPTS["30_SentMessage.table.sql"])
    assert not re.search(r"FOREIGN KEY|TRIGGER|CHECK", text)
    assert "SET (LOCK_ESCALATION = DISABLE)" in text


def test_the_tables_under_the_proof_have_neither_page_locks_nor_escalation():
    for table in ("SessionConversations", "ConversationLog"):
        text = SCRIPTS[f"30_{table}.table.sql"]
        indexes = len(re.findall(r"PRIMARY KEY|CREATE (?:UNIQUE )?NONCLUSTERED", code(text)))
        assert text.count("WITH (ALLOW_PAGE_LOCKS = OFF)") == indexes
        assert "SET (LOCK_ESCALATION = DISABLE)" in text
        assert not re.search(r"FOREIGN KEY|TRIGGER", code(text))


def test_no_other_table_forbids_page_locks():
    """REORGANIZE, as maintenance plans run it, is refused on an index without them (2552)."""
    proven = {"SessionConversations", "ConversationLog", "KeySequence", "Inbox"}  # F-127 147 165
    shipped = [rendered(load_named(name)) for name in sorted(NAMES)]
    single = rendered(configured(conversation={"key": "single", "recycle": "never"}))
    found = {
        name.split(".")[0].removeprefix("30_")
        for scripts in (*shipped, single)
        for name, text in scripts.items()
        if name.startswith("30_") and "ALLOW_PAGE_LOCKS = OFF" in text
    }
    assert found == proven


def test_the_application_is_granted_the_ways_to_send_and_nothing_else():
    grants = re.findall(r"GRANT .*? TO \[audit_sender\]", SCRIPTS["85_roles.grant.sql"])
    assert grants == [
        "GRANT EXECUTE ON OBJECT::[audit].[usp_Send] TO [audit_sender]",
        "GRANT EXECUTE ON OBJECT::[audit].[usp_SendBatch] TO [audit_sender]",
        "GRANT EXECUTE ON TYPE::[audit].[MessageBatch] TO [audit_sender]",
        "GRANT SELECT, INSERT ON OBJECT::[audit].[Outbox] TO [audit_sender]",
    ]


def test_creation_is_guarded_so_a_second_install_is_harmless():
    for name, text in SCRIPTS.items():
        if not name[:2].isdigit():
            continue
        for created in re.finditer(r"CREATE (?!OR ALTER|UNIQUE NONCLUSTERED)\w+", code(text)):
            before = code(text)[: created.start()]
            assert re.search(r"\bIF\b(?:(?!\bGO\b).)*$", before, re.S), (name, created.group())
