"""Two texts compared: which outcomes only one of them can come to."""

from __future__ import annotations

import pytest

from redial.paths import ROOT
from redial_lab.explore import Limits
from redial_lab.explore.against import OtherSessionsError, compared, lines
from redial_lab.explore.replay_words import decode, encode
from redial_lab.explore.search import HELD, UNFINISHED, VIOLATED, Violation
from redial_lab.explore.trace_files import evidence
from redial_lab.explore.user_files import load
from redial_lab.explore.world import EndlessError

TICKETS = ROOT / "sql" / "examples" / "tickets"
ALL = Limits(transitions=None)
SCRIPT = """CREATE DATABASE d;
GO
USE d;
GO
CREATE TABLE dbo.t (id uniqueidentifier NOT NULL DEFAULT NEWID(), n int NOT NULL, at datetime2 NULL);
INSERT dbo.t (n, at) VALUES (1, SYSUTCDATETIME());
GO
CREATE QUEUE dbo.q;
CREATE SERVICE s ON QUEUE dbo.q ([DEFAULT]);
"""
FILE = """
name = "{name}"
database = "d"
scripts = ["setup.sql"]
[[session]]
name = "{session}"
batches = ["{batch}"]
[[session]]
name = "b"
batches = ["{batch}"]
"""
READ_THEN_WRITE = "DECLARE @n int; SELECT @n = n FROM dbo.t; UPDATE dbo.t SET n = @n + 1;"
AT_ONCE = "UPDATE dbo.t SET n = n + 1;"


def own(folder, name, batch, session="a"):
    (folder / "setup.sql").write_text(SCRIPT, encoding="utf-8")
    path = folder / f"{name}.toml"
    path.write_text(FILE.format(name=name, batch=batch, session=session), encoding="utf-8")
    return load(path)[0]


def test_what_only_the_old_text_comes_to_is_shown_and_is_no_failure(tmp_path):
    new, old = own(tmp_path, "new", AT_ONCE), own(tmp_path, "old", READ_THEN_WRITE)
    found = compared(new, old, ALL)
    assert found.both == {"a: done; b: done; dbo.t: (3)"}
    assert found.only_old == {"a: done; b: done; dbo.t: (2)"}, "no id, no time"
    assert (found.only_new, found.status) == (frozenset(), HELD)
    assert "  a: done; b: done; dbo.t: (2)" in list(lines(found, "new", "old"))


def test_what_only_the_new_text_comes_to_fails(tmp_path):
    new, old = own(tmp_path, "new", READ_THEN_WRITE), own(tmp_path, "old", AT_ONCE)
    found = compared(new, old, ALL)
    assert found.only_new == {"a: done; b: done; dbo.t: (2)"}
    assert found.status == VIOLATED
    assert found.new.violations == {}, "an outcome is no violation of the text's own"
    (way,) = found.ways
    trace = evidence(found.told, way).text
    assert "=> a: done; b: done; dbo.t: (2)" in trace
    word = encode(new, way.path)
    assert decode(new, word) == Violation("", way.path), "it is replayed without the old text"


def test_a_way_that_windows_can_take_is_said_to_come_to_its_outcome(tmp_path):
    other = "UPDATE dbo.t SET n = 7;"
    found = compared(own(tmp_path, "new", other), own(tmp_path, "old", AT_ONCE), ALL)
    (way,) = found.ways
    shown = evidence(found.told, way)
    assert shown.met, shown.verdict


def test_an_outcome_is_one_line_whatever_the_rows_hold(tmp_path):
    """Its name stands in a script for query windows."""
    nasty = (
        "DECLARE @x nvarchar(40) = N'a' + NCHAR(13) + NCHAR(10) + N'GO'; SELECT @x AS x INTO dbo.k;"
    )
    found = compared(own(tmp_path, "new", nasty), own(tmp_path, "old", AT_ONCE), ALL)
    assert any("('a\\u000d\\u000aGO')" in text for text in found.only_new), found.only_new
    assert all(text.isprintable() for text in found.only_new)


def test_a_loop_of_the_old_text_is_said_to_be_the_old_text_s(tmp_path):
    loop = "WHILE 1 = 1 PRINT 1;"
    with pytest.raises(EndlessError, match="the old text: a: "):
        compared(own(tmp_path, "new", AT_ONCE), own(tmp_path, "old", loop), ALL)


def test_a_search_that_a_limit_ended_is_no_success(tmp_path):
    new, old = own(tmp_path, "new", AT_ONCE), own(tmp_path, "old", AT_ONCE)
    assert compared(new, old, Limits(transitions=2)).status == UNFINISHED


def test_what_the_old_text_may_have_beyond_a_limit_is_nobody_s_fault(tmp_path):
    """A limit that the old text's search meets before it comes to the outcome that both have."""
    more = "SELECT n FROM dbo.t; SELECT n FROM dbo.t; SELECT n FROM dbo.t; " + READ_THEN_WRITE
    new, old = own(tmp_path, "new", READ_THEN_WRITE), own(tmp_path, "old", more)
    assert compared(new, old, ALL).status == HELD
    cut = compared(new, old, Limits(transitions=35))
    assert cut.only_new and cut.status == UNFINISHED
    assert any("it may have them too" in line for line in lines(cut, "new", "old"))


def test_a_batch_that_never_ends_and_a_message_on_its_way_are_outcomes(tmp_path):
    waits = "DECLARE @h uniqueidentifier; WAITFOR (RECEIVE TOP (1) @h = conversation_handle FROM dbo.q);"
    found = compared(own(tmp_path, "new", waits), own(tmp_path, "old", AT_ONCE), ALL)
    assert found.only_new == {"a: no answer; b: no answer; dbo.t: (1)"}
    send = (
        "ALTER QUEUE dbo.q WITH STATUS = OFF; DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE s "
        "TO SERVICE N's' WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01);"
    )
    found = compared(own(tmp_path, "new", send), own(tmp_path, "old", AT_ONCE), ALL)
    assert all("on its way: DEFAULT 0x01, DEFAULT 0x01" in text for text in found.only_new)


def test_an_id_in_a_text_or_a_variant_is_no_difference(tmp_path):
    keeps = (
        "DECLARE @id uniqueidentifier = NEWID(){}; SELECT @id AS id, CAST(@id AS sql_variant) AS v, "
        "CONVERT(nvarchar(36), @id) AS t, CAST(1.50 AS decimal(5, 2)) AS d INTO dbo.{};"
    )
    once, twice = keeps.format("", "{}"), keeps.format("; SET @id = NEWID()", "{}")
    new, old = (own(tmp_path, n, text.format("k")) for n, text in (("new", once), ("old", twice)))
    found = compared(new, old, ALL)
    assert (found.only_new, found.only_old) == (frozenset(), frozenset())
    assert any("(uniqueidentifier, 'id', 1.50)" in text for text in found.both)


def test_messages_that_lie_in_a_queue_are_part_of_the_outcome(tmp_path):
    send = (
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE s TO SERVICE N's' "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h ({});"
    )
    new, old = own(tmp_path, "new", send.format("0x01")), own(tmp_path, "old", send.format("0x02"))
    found = compared(new, old, ALL)
    assert not found.both
    assert found.only_new == {
        "a: done; b: done; dbo.q: DEFAULT 0x01, DEFAULT 0x01; dbo.t: (1); "
        "dialogs: from CO, from CO, to CO, to CO"
    }


def test_sessions_of_other_names_cannot_be_compared(tmp_path):
    new, old = own(tmp_path, "new", AT_ONCE), own(tmp_path, "old", AT_ONCE, session="else")
    with pytest.raises(OtherSessionsError, match="new: a, b; old: else, b"):
        compared(new, old, ALL)


def test_the_mended_example_comes_to_nothing_that_the_first_try_does_not():
    new, old = (load(TICKETS / f"{name}.toml")[0] for name in ("mended", "first_try"))
    found = compared(new, old, ALL)
    assert found.only_new == frozenset() and found.only_old
