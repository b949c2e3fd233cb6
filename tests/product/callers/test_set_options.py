"""Callers whose SET options are not those a module wants, and what they find again afterwards."""

import re

import pytest

from .stage import Stage, keys, switched, ways

pytestmark = pytest.mark.sampled(every=4, meets=("key",))

OPTIONS = (
    "QUOTED_IDENTIFIER OFF",
    "ARITHABORT OFF",
    "ANSI_NULL_DFLT_ON OFF",
    "CURSOR_CLOSE_ON_COMMIT ON",
    "IMPLICIT_TRANSACTIONS ON",
    "NOCOUNT ON",
    "XACT_ABORT ON",
    "DATEFIRST 1",
    "DEADLOCK_PRIORITY LOW",
    "ROWCOUNT 1",
)

UNKNOWN_HERE = (
    "ANSI_NULLS OFF",
    "ANSI_PADDING OFF",
    "ANSI_WARNINGS OFF",
    "CONCAT_NULL_YIELDS_NULL OFF",
    "NUMERIC_ROUNDABORT ON",
    "ANSI_DEFAULTS OFF",
    "DATEFORMAT dmy",
    "LANGUAGE Deutsch",
    "TEXTSIZE 1",
)
"""The embedded broker refuses these by name. What a server would make of them is ruled out below:
1934 needs an object that wants its options."""

WANTS_OPTIONS = (
    "an index on a view or on a computed column, a filtered index, a method of xml: "
    "all raise 1934 under a caller's ANSI_WARNINGS OFF (set-statements page)"
)


@pytest.mark.parametrize("option", UNKNOWN_HERE)
def test_an_option_not_tried_here_is_one_the_broker_refuses(option):
    """Canary: when the broker learns one, move it up into OPTIONS."""
    t1 = Stage().caller()
    t1.starts(f"SET {option};")
    assert t1.errors and 60000 <= t1.errors[0] <= 60999


@keys
def test_nothing_a_sender_touches_wants_a_callers_options(key):
    """No table has a filtered index or a computed column, no module of the send path an xml
    method.
    """
    stage = Stage(key)
    for view, column in (("indexes", "has_filter"), ("columns", "is_computed")):
        assert (
            stage.dba.rows(
                f"SELECT 1 FROM sys.{view} AS x WHERE x.{column} = 1 "
                "AND OBJECT_SCHEMA_NAME(x.object_id) = N'audit';"
            )
            == []
        )
    for name, text in stage.dba.rows(
        "SELECT OBJECT_NAME(m.object_id), m.definition FROM sys.sql_modules AS m;"
    ):
        if (
            name.startswith(("usp_Send", "usp_Begin", "usp_Acquire", "ufn_", "Outbox"))
            and name != "usp_SenderActivation"
        ):
            found = re.findall(r"\.(value|nodes|query|exist|modify)\s*\(", text)
            assert found == [], f"{name}: {WANTS_OPTIONS}"


@ways
@pytest.mark.parametrize("option", OPTIONS)
def test_whatever_the_option_the_message_arrives_whole_and_the_option_stays(key, option):
    """1 T1 sets an option, sends twice. 2 Both bodies arrive whole.

    3 @@OPTIONS is as before (F-116).
    """
    stage = Stage(key)
    t1 = stage.caller()
    t1.does(
        f"SET {option}; DECLARE @before int = @@OPTIONS; {stage.send('0102')} "
        f"{stage.send('0304')} IF @@OPTIONS <> @before THROW 50999, N'changed', 1;"
        "WHILE @@TRANCOUNT > 0 COMMIT;"
    )
    assert stage.landed() == ["0102", "0304"]
    stage.is_clean()


@ways
@pytest.mark.parametrize("option", OPTIONS)
@switched("broker_error_dooms")
def test_a_dead_dialog_is_replaced_whatever_the_option(key, option, switches):
    """1 A dialog dies. 2 T1 sets an option and sends in its transaction: sent, or a clear error."""
    stage = Stage(key, switches)
    t1 = stage.caller()
    t1.does(stage.send("01"))
    t1.loses_dialogs(f"SET {option}; BEGIN TRANSACTION; {stage.send('02')} COMMIT;")
    refused = t1.errors
    t1.does(
        "IF XACT_STATE() <> 0 AND @@TRANCOUNT > 0 ROLLBACK;"
        if refused
        else "WHILE @@TRANCOUNT > 0 COMMIT;"
    )
    assert stage.landed() == (["01"] if refused else ["01", "02"])
    assert not refused or (switches["broker_error_dooms"] and refused[0] == 8426)
    stage.is_clean()


@ways
@pytest.mark.parametrize("abort", ["OFF", "ON"])
@switched("broker_error_dooms")
def test_a_wrapper_made_with_its_options_off_sends(key, abort, switches):
    """1 A procedure is created with QUOTED_IDENTIFIER OFF. 2 It sends, also on a dead
    dialog; 3 XACT_ABORT of its caller is what it was (@@OPTIONS, bit 16384)."""
    stage = Stage(key, switches)
    stage.dba.does("SET QUOTED_IDENTIFIER OFF; ")
    stage.dba.does(
        'CREATE PROCEDURE dbo.Wrapper AS BEGIN DECLARE @text nvarchar(20) = "x"; '
        f"{stage.send('01')} END;"
    )
    t1 = stage.caller()
    bit = 16384 if abort == "ON" else 0
    t1.does(f"SET XACT_ABORT {abort}; EXECUTE dbo.Wrapper;")
    t1.loses_dialogs("BEGIN TRANSACTION; EXECUTE dbo.Wrapper; COMMIT;")
    refused = t1.errors
    t1.does("IF @@TRANCOUNT > 0 ROLLBACK;")
    assert t1.value("@@OPTIONS & 16384") == bit
    assert stage.landed() == (["01"] if refused else ["01", "01"])
    assert not refused or switches["broker_error_dooms"]
    stage.is_clean()
