"""Names of ours that others have, that are mixed up, or that somebody has spelled in another way."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from tests.product.sql.lab import AUDIT, Lab

from .by_hand import Site
from .changes_of_tables import CHANGES, exchanged

found_module = import_module("redial.deploy.fingerprint.found")
MINE = "table Mine is there, and no file"
TRIGGER = (
    "DROP TRIGGER audit.Outbox_Insert; CREATE TABLE audit.Mine (A int NOT NULL); "
    "EXECUTE (N'CREATE TRIGGER audit.Outbox_Insert ON audit.Mine AFTER INSERT AS RETURN;');"
)
KEY = (
    "ALTER TABLE audit.ErrorLog DROP CONSTRAINT PK_ErrorLog; CREATE TABLE audit.Mine (A int NOT NULL "
    "CONSTRAINT PK_ErrorLog PRIMARY KEY);"
)


def site() -> Site:
    lab = Lab(AUDIT)
    lab.instance.disconnect(lab.sa.session)
    return Site(lab)


def step(line: str) -> str:
    """The statement that a finding prints."""
    return re.split(" It runs: | Next: ", line)[-1]


def test_a_trigger_of_our_name_on_somebodys_table_goes_with_undo_and_the_table_stays():
    here = site()
    here.run(TRIGGER)
    theirs, missing, mine = here.findings()
    assert "module Outbox_Insert of Mine is there" in theirs and "--undo runs this" in theirs
    assert MINE in mine and "taken by module Outbox_Insert of Mine" in missing
    assert not here.deploy(overwrite=True)
    assert here.deploy(undo=True)
    [left] = here.findings()
    assert MINE in left


def test_the_key_of_somebodys_table_is_never_dropped_for_its_name_but_named_anew_by_a_person():
    here = site()
    here.run(KEY)
    theirs, _, missing = here.findings()
    assert "index PK_ErrorLog of Mine is there" in theirs and "--undo" not in theirs
    assert "--undo" not in missing
    assert not here.deploy(overwrite=True, undo=True)
    here.run(step(theirs))
    assert here.deploy()
    [left] = here.findings()
    assert MINE in left


@pytest.mark.parametrize(
    "what",
    [
        "a default is gone",
        "another default",
        "a default of another name",
        "another default with another name",
        "a default where there is none",
        "names of two defaults exchanged",
        "the name of a default is another column's",
        "names of two keys exchanged",
        "names of three keys passed on",
    ],
)
def test_the_statement_that_a_deployment_would_run_mends_it_by_hand_too(what):
    here = site()
    here.run(CHANGES[what].sql)
    [line] = here.findings()
    here.run(step(line))
    assert here.findings() == []


OTHER_CASE = {
    "a procedure": "EXECUTE sp_rename N'audit.usp_Send', N'usp_send';",
    "a trigger": "EXECUTE sp_rename N'audit.Outbox_Insert', N'outbox_insert';",
    "a table": "EXECUTE sp_rename N'audit.Landing', N'LANDING';",
    "a column": "EXECUTE sp_rename N'audit.SendLedger.SentUtc', N'sentutc', N'COLUMN';",
    "a key": "EXECUTE sp_rename N'audit.PK_ErrorLog', N'pk_errorlog';",
    "an index": "EXECUTE sp_rename N'audit.SendLedger.IX_SendLedger_SentUtc', "
    "N'ix_sendledger_sentutc', N'INDEX';",
    "a default": "EXECUTE sp_rename N'audit.DF_Landing_LandedUtc', N'df_landing_landedutc';",
}


@pytest.mark.parametrize("what", OTHER_CASE)
def test_another_letter_case_is_no_difference_where_the_database_does_not_tell_it(what):
    here = site()
    here.run(OTHER_CASE[what])
    assert here.findings() == []
    assert here.survey().plan.status == 0


def test_another_text_under_another_letter_case_is_replaced_and_then_nothing_is_found():
    here = site()
    here.run(
        "DROP PROCEDURE audit.usp_LogError; EXECUTE (N'CREATE PROCEDURE audit.usp_logerror AS RETURN 0;');"
    )
    [line] = [one for one in here.findings() if "has another text" in one]
    assert "module usp_LogError has another text" in line
    assert here.deploy(overwrite=True)
    assert here.findings() == []


def test_where_the_database_tells_letter_case_it_is_another_procedure_and_ours_is_missing(
    monkeypatch,
):
    """The stand-in has no such database: here it only says that it is one."""
    ask = found_module.sets_of

    def strict(connection, sql):
        sets = ask(connection, sql)
        for row in sets[0]:
            if "delayed_durability_desc" in row:
                row["collation"] = "Latin1_General_CS_AS"
        return sets

    here = site()
    here.run(OTHER_CASE["a procedure"])
    monkeypatch.setattr(found_module, "sets_of", strict)
    found = here.findings()
    assert any("module usp_Send is missing" in one for one in found)
    assert any("module usp_send is there, and no file" in one for one in found)


AGAIN = "ALTER TABLE audit.Landing DROP COLUMN {0}; ALTER TABLE audit.Landing ADD {0} nvarchar(128) NULL; "
NO_EXCHANGE = {
    "the last but one dropped and added": AGAIN.format("SenderApp"),
    "two of the last three dropped and added": AGAIN.format("SenderApp")
    + AGAIN.format("SenderLogin"),
}


@pytest.mark.parametrize("what", NO_EXCHANGE)
def test_another_order_of_columns_that_has_another_reason_is_no_exchange(what):
    here = site()
    here.run(NO_EXCHANGE[what])
    assert not any("in the place of" in one for one in here.findings())


def test_two_columns_that_were_made_in_another_order_keep_their_keys_and_are_no_exchange():
    here = site()
    text = next(text for name, text in here.files.items() if name.endswith("_SendLedger.table.sql"))
    made = re.search(r"CREATE TABLE \[audit\]\.\[SendLedger\].*?\n    \);", text, re.S)
    lines = made[0].split("\n")
    one, other = (
        next(n for n, line in enumerate(lines) if line.split()[:1] == [name])
        for name in ("BatchId", "PartitionId")
    )
    lines[one], lines[other] = lines[other], lines[one]
    here.run("DROP TABLE audit.SendLedger;")
    here.run("\n".join(lines))
    assert not any("in the place of" in one for one in here.findings())


def test_findings_stand_in_the_order_in_which_their_statements_can_be_run():
    """Of a key whose rows are in another order: the index goes first, or there are two clustered ones."""
    here = site()
    here.run(CHANGES["a key whose rows are in another order"].sql)
    here.run(exchanged("PK_ErrorLog", "PK_DeadLetter"))
    here.run(
        "CREATE USER ann WITHOUT LOGIN; CREATE USER bob WITHOUT LOGIN; CREATE USER zoe WITHOUT LOGIN; "
        "GRANT SELECT ON audit.Landing TO ann WITH GRANT OPTION; "
        "GRANT SELECT ON audit.Landing TO zoe WITH GRANT OPTION AS ann; "
        "GRANT SELECT ON audit.Landing TO bob AS zoe;"
    )
    for line in here.findings():
        here.run(step(line))
    assert here.findings() == []
