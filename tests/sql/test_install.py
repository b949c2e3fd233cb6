"""install.sql as people run it: sqlcmd connects with QUOTED_IDENTIFIER OFF and, like SSMS, goes on
after an error (F-139). Whichever batch fails, nothing may be switched on half, and running the
script again must finish the job."""

from __future__ import annotations

import hashlib
import re

import pytest

from harness.cli.configs import load_named, names
from harness.render import render
from harness.render.renderer import SQL
from harness.tsql import split_batches

from ..combos.catalog import differences, read
from ..combos.lab import DATABASE, Lab, empty_instance

AUDIT = load_named("audit")
BATCHES = [batch.sql for batch in split_batches(render(AUDIT)["install.sql"])]
SETTINGS = re.compile(r"\A\s*(?:--[^\n]*\n)?\s*(?:SET [A-Z_]+ ON;\s*)+\Z")
WORKING = [n for n, text in enumerate(BATCHES) if not SETTINGS.match(text)]
"""Batches that do something; the others only set options."""
SQLCMD = "SET QUOTED_IDENTIFIER OFF;"
"""What a connection of sqlcmd starts with (sqlcmd utility page, option -I)."""


def titled(number: int) -> str:
    """A batch's first telling line, for the name of its test."""
    lines = [line.strip() for line in re.sub(r"/\*.*?\*/", "", BATCHES[number], flags=re.S)
             .split("\n") if line.strip()]
    return f"{number}: {lines[0][:60]}"


def run(lab: Lab, first: str, failing: int | None = None) -> list[int]:
    """The script on one connection, whatever fails; the batch ``failing`` does. Error numbers."""
    session = lab.instance.connect(DATABASE)
    session.execute(first).ok()
    numbers = []
    for number, text in enumerate(BATCHES):
        out = session.execute("THROW 50000, N'disk full', 1;" if number == failing else text)
        assert out.finished, text
        numbers += [error.number for error in out.errors]
    session.close()
    return numbers


@pytest.fixture
def lab():
    with empty_instance() as instance:
        yield Lab(instance, AUDIT)


def installed(lab: Lab) -> dict[str, list[tuple]]:
    """What an installation consists of: objects, rights, and what the queues do."""
    found = read(lab.rows)
    found["queues"] = lab.rows(
        "SELECT name, is_activation_enabled, activation_procedure, max_readers, "
        "USER_NAME(execute_as_principal_id) FROM sys.service_queues WHERE is_ms_shipped = 0 "
        "ORDER BY name;")
    found["modules"] = lab.rows(
        "SELECT OBJECT_NAME(object_id), uses_ansi_nulls, uses_quoted_identifier, "
        "USER_NAME(execute_as_principal_id) FROM sys.sql_modules ORDER BY 1;")
    return found


@pytest.fixture(scope="module")
def clean():
    """An installation nothing went wrong with."""
    with empty_instance() as instance:
        lab = Lab(instance, AUDIT)
        assert run(lab, "SET QUOTED_IDENTIFIER ON;") == []
        return installed(lab)


@pytest.mark.parametrize("first", [SQLCMD, SQLCMD + "SET ANSI_NULLS OFF;",
                                   "SET IMPLICIT_TRANSACTIONS OFF; SET XACT_ABORT ON;"])
def test_the_settings_of_the_connection_do_not_reach_the_modules(lab, clean, first):
    assert run(lab, first) == []
    assert differences(clean, installed(lab)) == []
    assert {row[1:3] for row in installed(lab)["modules"]} == {(1, 1)}


@pytest.mark.parametrize("failing", WORKING, ids=titled)
def test_a_batch_that_fails_switches_nothing_on_half_and_the_next_run_converges(
        lab, clean, failing):
    """A.2 idempotent deploy: goes on after an error, as sqlcmd and SSMS do."""
    assert 50000 in run(lab, SQLCMD, failing)
    missing = [row for row in clean["objects"] if row not in read(lab.rows)["objects"]]
    activated = [row for row in installed(lab)["queues"] if row[1]]
    assert not (missing and activated), f"{activated} is on without {missing}"
    assert run(lab, SQLCMD) == []
    assert differences(clean, installed(lab)) == []
    caller = lab.caller()
    caller.send(lab.body(), None)
    lab.rest(5)


@pytest.mark.parametrize("failing", WORKING, ids=titled)
def test_what_is_sent_while_a_batch_is_missing_is_refused_or_kept(lab, failing):
    """Nobody waits for a second run: callers come at once, and activation with them."""
    run(lab, SQLCMD, failing)
    caller = lab.caller()
    for body in (lab.body(), lab.body()):
        out = caller.session.execute(caller.call(body))
        if not out.errors:
            caller.acknowledge(body)
    lab.advance(30)
    assert lab.rows("SELECT @@TRANCOUNT;") == [(0,)]
    assert run(lab, SQLCMD) == []
    lab.rest(5000)


def test_a_second_run_changes_nothing(lab, clean):
    run(lab, SQLCMD)
    assert run(lab, SQLCMD) == []
    assert differences(clean, installed(lab)) == []


def test_every_module_tells_its_version_and_configuration_from_the_catalog(lab):
    """A.2 idempotent deploy: OBJECT_DEFINITION answers which version runs, as a DBA asks."""
    run(lab, SQLCMD)
    texts = lab.rows("SELECT o.name, OBJECT_DEFINITION(o.object_id) FROM sys.objects AS o "
                     "INNER JOIN sys.sql_modules AS m ON m.object_id = o.object_id;")
    assert texts
    stamp = re.compile(r"/\* Redial \d+\.\d+\.\d+, configuration audit\b[^*]*\*/")
    assert [name for name, text in texts if not stamp.search(text)] == []


@pytest.mark.parametrize("name", names())
def test_the_committed_checksums_are_those_of_the_files(name):
    directory = SQL / "generated" / name
    listed = {}
    for line in (directory / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, file = line.split("  ", 1)
        listed[file] = digest
    here = {p.name: hashlib.sha256(p.read_bytes()).hexdigest()
            for p in directory.iterdir() if p.name != "SHA256SUMS"}
    assert listed == here
