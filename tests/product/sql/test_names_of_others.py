"""A schema that was there before: what an application has in it survives us."""

from __future__ import annotations

import re

import pytest

from tests.installed import rendered, split

from . import catalog
from .bare import Bare, another, installation, removal
from .lab import AUDIT

DBO = another(AUDIT, schema="dbo")
THEIRS = {
    "table": (
        "CREATE TABLE dbo.Inbox (Id int NOT NULL, Body nvarchar(10) NOT NULL);"
        "INSERT INTO dbo.Inbox VALUES (1, N'theirs');",
        "user table [dbo].[Inbox]",
    ),
    "view": ("EXECUTE (N'CREATE VIEW dbo.Outbox AS SELECT 1 AS Theirs;');", "view [dbo].[Outbox]"),
    "procedure": (
        "EXECUTE (N'CREATE PROCEDURE dbo.usp_Send AS SELECT N''theirs'';');",
        "sql stored procedure [dbo].[usp_Send]",
    ),
    "function": (
        "EXECUTE (N'CREATE FUNCTION dbo.ufn_Queues() RETURNS int AS BEGIN RETURN 1; END');",
        "[dbo].[ufn_Queues]",
    ),
    "type": (
        "CREATE TYPE dbo.MessageBatch AS TABLE (Theirs int NOT NULL);",
        "type [dbo].[MessageBatch]",
    ),
    "alias type": ("CREATE TYPE dbo.ReceivedBatch FROM int;", "type [dbo].[ReceivedBatch]"),
    "queue": ("CREATE QUEUE dbo.TargetQueue;", "service queue [dbo].[TargetQueue]"),
    "another kind": (
        "EXECUTE (N'CREATE VIEW dbo.Landing AS SELECT 1 AS Theirs;');",
        "view [dbo].[Landing]",
    ),
    "a key of the name of ours": (
        "CREATE TABLE dbo.Theirs (Id int NOT NULL CONSTRAINT PK_Landing PRIMARY KEY);"
        "INSERT INTO dbo.Theirs VALUES (1);",
        "primary key constraint [dbo].[PK_Landing]",
    ),
    "a table as ours": (
        "CREATE TABLE dbo.Gate (ConfigId int NOT NULL CONSTRAINT PK_Gate PRIMARY KEY, "
        "IsOpen bit NOT NULL); INSERT INTO dbo.Gate VALUES (7, 0);",
        "user table [dbo].[Gate]",
    ),
}
"""What is there, and how the refusal names it."""
MARKED = re.compile(
    r"BEGIN TRANSACTION;\s+CREATE (TABLE|TYPE|QUEUE) (?:(?!COMMIT TRANSACTION).)*?"
    r"EXECUTE \[audit\]\.\[usp_Mark\] N'\1', N'\w+';\s+COMMIT TRANSACTION;",
    re.S,
)
"""The making of one such object, its mark and nothing else in one transaction."""
UNMARKED = (
    "SELECT o.name FROM sys.objects AS o WHERE o.type IN ('U', 'SQ') AND o.is_ms_shipped = 0 "
    "AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep WHERE ep.class = 1 "
    "AND ep.major_id = o.object_id AND ep.name = N'Redial.made');"
)


@pytest.mark.parametrize("kind", THEIRS)
def test_a_foreign_object_of_a_name_of_ours_is_refused_and_survives_purge(kind):
    made, shown = THEIRS[kind]
    bare = Bare()
    bare.run([made])
    before, rows = bare.catalog(), bare.data("dbo")
    assert bare.stops(installation(DBO)) == 50208
    text = bare.sa.errors[0].text
    assert shown in text and "not made by Redial" in text and "Next: " in text
    assert catalog.difference(before, bare.catalog()) == []
    for sql in removal(DBO):
        bare.attempt(sql)
        assert catalog.difference(before, bare.catalog()) == []
    assert bare.data("dbo") == rows


def test_many_names_are_counted_and_the_first_five_are_told():
    bare = Bare()
    bare.run(
        [
            f"CREATE TABLE dbo.{name} (Id int NOT NULL);"
            for name in (
                "DeadLetter",
                "ErrorLog",
                "Gate",
                "Inbox",
                "Landing",
                "Migration",
                "Setting",
            )
        ]
    )
    assert bare.stops(installation(DBO)) == 50208
    text = bare.sa.errors[0].text
    assert "[dbo].[DeadLetter]" in text and "[dbo].[Landing]" in text and "and 2 more" in text


def test_a_schema_of_others_without_such_names_takes_us_in_and_gets_everything_back():
    bare = Bare()
    bare.run(["CREATE TABLE dbo.Orders (Id int NOT NULL); INSERT INTO dbo.Orders VALUES (1);"])
    before = bare.catalog()
    bare.deploy(DBO)
    bare.deploy(DBO)  # ours are known again
    bare.remove(DBO)
    assert catalog.difference(before, bare.catalog()) == []
    assert bare.data("dbo") == {"Orders": [(1,)]}


def test_what_an_application_puts_in_our_place_later_is_neither_replaced_nor_dropped():
    """Into an installation: a table of a choice not made, and a procedure instead of ours."""
    bare = Bare()
    empty = bare.catalog()
    bare.deploy(DBO)
    bare.run([THEIRS["table"][0], "DROP PROCEDURE dbo.usp_Send;", THEIRS["procedure"][0]])
    before = bare.catalog()
    assert bare.stops(installation(DBO)) == 50208
    text = bare.sa.errors[0].text
    assert "[dbo].[Inbox]" in text and "[dbo].[usp_Send]" in text
    assert catalog.difference(before, bare.catalog()) == []
    bare.remove(DBO)
    assert bare.rows("EXECUTE dbo.usp_Send;") == [("theirs",)]
    assert bare.data("dbo") == {"Inbox": [(1, "theirs")]}
    left = [
        line
        for line in catalog.difference(empty, bare.catalog())
        if "Inbox" not in line and "usp_Send" not in line
    ]
    assert left == []


def test_every_module_we_make_shows_the_stamp_it_is_known_by():
    stamp = re.compile(r"\* Redial \d[^*]*, configuration ")
    for name, text in rendered(AUDIT).items():
        if re.search(r"\.(procedure|function|view|trigger)\.sql$", name):
            (batch,) = [b.sql for b in split(text) if re.search(r"^CREATE OR ALTER", b.sql, re.M)]
            assert stamp.search(batch), name


def test_every_table_type_and_queue_is_marked_as_it_is_made():
    """A kill in between, or an error, leaves neither the object nor the mark."""
    bare = Bare.deployed(AUDIT)
    assert bare.rows(UNMARKED) == []
    assert bare.rows("SELECT COUNT(*) FROM sys.extended_properties WHERE class = 6;") == [(2,)]
    for name, text in rendered(AUDIT).items():
        for batch in split(text):
            made = re.findall(r"^\s+CREATE (TABLE|TYPE|QUEUE) (?!#)", batch.sql, re.M)
            assert MARKED.findall(batch.sql) == made


def test_what_only_one_choice_needs_is_ours_too():
    """key = single has a table of its own: known again, gone with the choice, and purged."""
    single = another(AUDIT, conversation={"key": "single", "recycle": "never"})
    bare = Bare()
    empty = bare.catalog()
    bare.deploy(single)
    assert bare.rows(UNMARKED) == []
    bare.deploy(single)
    bare.deploy(AUDIT)
    assert bare.rows("SELECT OBJECT_ID(N'audit.Everlasting', N'U');") == [(None,)]
    bare.deploy(single)
    bare.remove(single)
    assert catalog.difference(empty, bare.catalog()) == []


def test_a_row_count_set_in_the_window_cuts_no_list_of_what_to_mark_or_to_drop():
    """SSMS has an option for it, and it outlives a batch (F-331); the embedded broker has none."""
    for script in (
        "0_preflight.sql",
        "1_core.sql",
        "9_finish.sql",
        "uninstall.sql",
        "purge_data.sql",
    ):
        text = rendered(AUDIT)[script]
        assert "\nSET ROWCOUNT 0; " in text[: text.index("DECLARE ")], script


def test_a_priority_of_somebody_else_is_never_altered():
    config = another(AUDIT, priority={"level": 8})
    bare = Bare()
    bare.run(
        ["CREATE BROKER PRIORITY [redial/audit/target] FOR CONVERSATION SET (PRIORITY_LEVEL = 3);"]
    )
    before = bare.catalog()
    assert bare.stops(installation(config)) == 50208
    assert "broker priority [redial/audit/target]" in bare.sa.errors[0].text
    assert catalog.difference(before, bare.catalog()) == []
    assert bare.stops(removal(config, purge=False)) == 50142  # nothing of ours is here
    assert catalog.difference(before, bare.catalog()) == []
    bare.run(["DROP BROKER PRIORITY [redial/audit/target];"])
    bare.deploy(config)
    bare.deploy(another(AUDIT, priority={"level": 2}))  # ours: altered
    assert bare.rows("SELECT DISTINCT priority FROM sys.conversation_priorities;") == [(2,)]
    bare.remove(config)
    assert bare.rows("SELECT name FROM sys.conversation_priorities;") == []
