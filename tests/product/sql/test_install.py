"""install.sql as people run it: sqlcmd connects with QUOTED_IDENTIFIER OFF and, like SSMS, goes on
after an error (F-139). Whichever batch fails, nothing may be switched on half, and running the
script again must finish the job."""

from __future__ import annotations

import hashlib
import re

import pytest

from redial.cli.configs import chosen, load_named
from redial.paths import GENERATED
from redial_broker.exec.ddl.probing import unprobed
from tests.installed import rendered, split
from tests.product.combos.catalog import differences, read
from tests.product.combos.lab import DATABASE, Lab, empty_instance

AUDIT = load_named("audit")
BATCHES = [batch.sql for batch in split(rendered(AUDIT)["install.sql"])]
NOTHING = re.compile(
    r"\A(?:\s*(?:SET [A-Z_]+ O\w+|IF @@ERROR <> 0 SET NOEXEC ON|PRINT [^;]*|"
    r"[^;]*#redial_install[^;]*);)*\s*\Z"
)
WORKING = [
    n
    for n, text in enumerate(BATCHES)
    if not NOTHING.match(re.sub(r"/\*.*?\*/|--[^\n]*", "", text, flags=re.S))
]
"""Batches that do something; the others only set options and ask for errors."""
SQLCMD = "SET QUOTED_IDENTIFIER OFF;"
"""What a connection of sqlcmd starts with (sqlcmd utility page, option -I)."""


def titled(number: int) -> str:
    """A batch's first telling line, for the name of its test."""
    lines = [
        line.strip()
        for line in re.sub(r"/\*.*?\*/", "", BATCHES[number], flags=re.S).split("\n")
        if line.strip()
    ]
    return f"{number}: {lines[0][:60]}"


def run(lab: Lab, first: str, failing: int | None = None) -> list[int]:
    """The script on one connection, whatever fails; the batch ``failing`` does. Error numbers."""
    session = lab.instance.connect(DATABASE)
    session.execute(first).ok()
    numbers = []
    with unprobed(lab.instance.server):  # always the same script
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
    found = {k: v for k, v in read(lab.rows).items() if k not in ("endpoints", "transmission")}
    found["queues"] = lab.rows(
        "SELECT name, is_activation_enabled, activation_procedure, max_readers, "
        "USER_NAME(execute_as_principal_id) FROM sys.service_queues WHERE is_ms_shipped = 0 "
        "ORDER BY name;"
    )
    found["modules"] = lab.rows(
        "SELECT OBJECT_NAME(object_id), uses_ansi_nulls, uses_quoted_identifier, "
        "USER_NAME(execute_as_principal_id) FROM sys.sql_modules ORDER BY 1;"
    )
    return found


@pytest.fixture(scope="module")
def clean():
    """An installation nothing went wrong with."""
    with empty_instance() as instance:
        lab = Lab(instance, AUDIT)
        assert run(lab, "SET QUOTED_IDENTIFIER ON;") == []
        return installed(lab)


@pytest.mark.parametrize("first", [SQLCMD, "SET IMPLICIT_TRANSACTIONS ON;", "SET NOEXEC ON;"])
def test_the_settings_of_the_connection_do_not_reach_the_modules(lab, clean, first):
    assert run(lab, first) == []
    assert differences(clean, installed(lab)) == []
    assert {row[1:3] for row in installed(lab)["modules"]} == {(1, 1)}


@pytest.mark.sampled(every=48)
@pytest.mark.parametrize("failing", WORKING, ids=titled)
def test_a_batch_that_fails_is_the_last_that_runs_and_the_next_run_converges(lab, clean, failing):
    """Feature idempotent deploy: sqlcmd and SSMS go on after an error, the script does not. Whoever
    sends before the second run is refused, or the message is kept until it can be landed."""
    last_line = [50220] if failing != WORKING[0] else []  # the first batch makes what it asks for
    assert run(lab, SQLCMD, failing) == [50000, *last_line]
    activated = [row for row in installed(lab)["queues"] if row[1]]
    missing = [row for row in clean["objects"] if row not in read(lab.rows)["objects"]]
    assert not (missing and activated), f"{activated} is on without {missing}"
    caller = lab.caller()
    for body in (lab.body(), lab.body()):
        out = caller.session.execute(caller.call(body))
        if not out.errors:
            caller.acknowledge(body)
    lab.advance(10)
    assert run(lab, SQLCMD) == []
    assert differences(clean, installed(lab)) == []
    caller.send(lab.body(), None)
    lab.rest(10)


@pytest.mark.parametrize("kind", ["table", "type", "procedure"])
def test_parts_run_one_by_one_activate_nothing_without_all_it_needs(lab, kind):
    """Nobody stops whoever runs the parts by hand: the activation script looks for itself."""
    part = [name for name in lab.files if f".{kind}." in name][-1]
    for name, text in lab.files.items():
        if name[:2].isdigit() and name != part:
            for batch in split(text):
                out = lab.sa.execute(batch.sql)
                assert out.finished
                if name == "80_queues.activation.sql" and "ALTER QUEUE" in batch.sql:
                    assert [error.number for error in out.errors] == [50199]
    assert lab.rows(
        "SELECT COUNT(*) FROM sys.service_queues WHERE is_activation_enabled = 1 "
        "AND is_ms_shipped = 0;"
    ) == [(0,)]


def test_a_second_run_changes_nothing(lab, clean):
    run(lab, SQLCMD)
    assert run(lab, SQLCMD) == []
    assert differences(clean, installed(lab)) == []


def test_every_module_tells_its_version_and_configuration_from_the_catalog(lab):
    """Feature idempotent deploy: OBJECT_DEFINITION answers which version runs, as a DBA asks."""
    run(lab, SQLCMD)
    texts = lab.rows(
        "SELECT o.name, OBJECT_DEFINITION(o.object_id) FROM sys.objects AS o "
        "INNER JOIN sys.sql_modules AS m ON m.object_id = o.object_id;"
    )
    assert texts
    stamp = re.compile(r"/\* Redial \d+\.\d+\.\d+, configuration audit\b[^*]*\*/")
    assert [name for name, text in texts if not stamp.search(text)] == []


@pytest.mark.parametrize("name", chosen(None))
def test_the_committed_checksums_are_those_of_the_files(name):
    directory = GENERATED / name
    listed = {}
    for line in (directory / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, file = line.split("  ", 1)
        listed[file] = digest
    here = {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest()
        for p in directory.iterdir()
        if p.name != "SHA256SUMS"
    }
    assert listed == here
