"""The files of a folder as people run them: on a connection of sqlcmd (QUOTED_IDENTIFIER OFF), of SSMS, of
drivers without autocommit. Whichever part fails, nothing may be switched on half, the end must say that
it is not installed, and running the files again must finish the job."""

from __future__ import annotations

import hashlib
import re

import pytest

from redial.cli.configs import chosen, load_named
from redial.paths import GENERATED
from redial.render.modules import CONTENTS, PART, STOP, places_in
from redial_broker.exec.ddl.probing import unprobed
from tests.installed import batches, rendered, split
from tests.product.combos.catalog import differences, read
from tests.product.combos.lab import DATABASE, Lab, empty_instance

from .bare import FILE

AUDIT = load_named("audit")
FILES = {name: text for name, text in rendered(AUDIT).items() if FILE.fullmatch(name)}
PLACES = places_in(rendered(AUDIT)[CONTENTS])
PARTS = list(PLACES)
SQLCMD = "SET QUOTED_IDENTIFIER OFF;"
"""What a connection of sqlcmd starts with (sqlcmd utility page, option -I)."""
PROBLEM = "THROW 50000, N'disk 100% full', 1;\nGO"
NOT_BEFORE, NOT_WHOLE, IN_TRANSACTION, OTHER_RUNS = 50233, 50220, 50228, 50229
STEPS = list(FILES)
MODULE = re.compile(r"\.(procedure|function|view|trigger)\.")


def failing_in(part: str) -> dict[str, str]:
    """The files, a part replaced by one that fails."""
    place = PLACES[part]
    lines = FILES[place.file].split("\n")
    stop = [] if MODULE.search(part) else STOP.strip().split("\n")
    lines[place.first - 1 : place.last] = [*PROBLEM.split("\n"), *stop]
    return FILES | {place.file: "\n".join(lines)}


def run(lab: Lab, first: str, files: dict[str, str] = FILES, apart: bool = False) -> list[int]:
    """The files on one connection, errors or not. Error numbers; what is said is in ``lab.said``.

    apart: a connection for each batch.
    """
    session = lab.instance.connect(DATABASE)
    session.execute(first).ok()
    numbers: list[int] = []
    lab.said = []
    with unprobed(lab.instance.server):  # always the same scripts
        for sql in (sql for text in files.values() for sql in batches(text)):
            if apart:
                session.close()
                session = lab.instance.connect(DATABASE)
                session.execute(first).ok()
            out = session.execute(sql)
            for _ in range(200):
                if out.finished:
                    break
                lab.instance.advance(1)
            assert out.finished
            lab.said += [message.text for message in out.messages]
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
    found[
        "all objects"
    ] = [  # of a table type's table, named by its number: a part that failed shifts it
        (schema, re.sub("_[0-9A-F]{8}$", "", name), kind)
        for schema, name, kind in found["all objects"]
    ]
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


@pytest.mark.parametrize("file", STEPS)
def test_a_transaction_is_left_alone_and_refused(lab, file):
    session = lab.instance.connect(DATABASE)
    session.execute("BEGIN TRANSACTION; CREATE TABLE mine (x int);").ok()
    said = [error for sql in batches(FILES[file]) for error in session.execute(sql).errors]
    assert [error.number for error in said] == [IN_TRANSACTION]
    assert file in said[0].text and "Next: " in said[0].text
    assert session.execute("SELECT @@TRANCOUNT;").rows() == [(1,)]
    session.execute("COMMIT;").ok()
    assert [row[0] for row in lab.rows("SELECT name FROM sys.tables;")] == ["mine"]


@pytest.mark.sampled(every=40)
@pytest.mark.parametrize("part", PARTS)
def test_behind_a_part_that_fails_nothing_is_switched_on_and_the_next_run_converges(
    lab, clean, part
):
    """Feature idempotent deploy, where errors end nothing. Whoever sends before the second run is
    refused, or the message is kept until it can be landed."""
    numbers = run(lab, SQLCMD, failing_in(part))
    assert numbers[0] == 50000
    later = STEPS[STEPS.index(PLACES[part].file) + 1 :]
    if MODULE.search(part):
        assert {NOT_WHOLE, NOT_BEFORE} & set(numbers) or numbers[1:], "the last file says so"
    else:
        assert numbers == [50000] + [NOT_BEFORE] * len(later), "it stops at once"
    assert not [text for text in lab.said if ": installed" in text]
    activated = [row for row in installed(lab)["queues"] if row[1]]
    there = read(lab.rows)["objects"]
    core = {line[0] for line in _made_by("1_core.sql", clean)}
    missing = [row for row in clean["objects"] if row not in there and core & set(row)]
    assert not (missing and activated), f"{activated} is on without {missing}"
    caller = lab.caller()
    for body in (lab.body(), lab.body()):
        out = caller.session.execute(caller.call(body))
        if not out.errors:
            caller.acknowledge(body)
    lab.advance(10)
    assert run(lab, SQLCMD) == []
    assert lab.said[-1].endswith(": installed.")
    assert differences(clean, installed(lab)) == []
    caller.send(lab.body(), None)
    lab.rest(10)


def _made_by(file: str, clean: dict[str, list[tuple]]) -> list[tuple[str]]:
    """Names of the objects whose parts are in a file."""
    names = [part for part, place in PLACES.items() if place.file == file]
    return [(re.sub(r"^\d\d_(\d\d_)?|\..*", "", name),) for name in names]


@pytest.mark.parametrize("file", STEPS[1:])
def test_a_file_out_of_order_is_refused_by_name_and_nothing_is_done(lab, clean, file):
    """Also when a file between was left out, and when those before are of another revision."""
    before = lab.rows("SELECT name FROM sys.objects WHERE is_ms_shipped = 0;")
    assert run(lab, SQLCMD, {file: FILES[file]}) == [NOT_BEFORE]
    earlier = STEPS[STEPS.index(file) - 1]
    assert f"{earlier} of these files has not passed" in lab.said[-1]
    assert lab.rows("SELECT name FROM sys.objects WHERE is_ms_shipped = 0;") == before
    # 1. without the one before it
    some = {name: FILES[name] for name in STEPS[: STEPS.index(file) + 1] if name != earlier}
    assert run(lab, SQLCMD, some)[-1] == NOT_BEFORE
    # 2. behind the first of another revision
    other = {STEPS[0]: re.sub(r"(?<=N')[0-9a-f]{16}(?= )", "0" * 16, FILES[STEPS[0]])}
    assert run(lab, SQLCMD, other | {file: FILES[file]}) == [NOT_BEFORE]
    # 3. in their order they finish
    assert run(lab, SQLCMD) == []
    assert differences(clean, installed(lab)) == []


@pytest.mark.parametrize("part", [one for one in PARTS if ".procedure." in one][::9])
def test_the_last_file_sees_a_module_that_is_not_as_the_files_make_it(lab, part):
    """A tool that opens a connection for each batch and goes on behind errors is stopped by nothing
    else: the end says what failed."""
    name = re.sub(r"^\d\d_(\d\d_)?|\..*", "", part)
    assert run(lab, SQLCMD) == []
    [(text,)] = lab.rows(f"SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.{name}'));")
    altered = re.sub(r"CREATE\s+PROCEDURE", "ALTER PROCEDURE", text) + "\n-- hotfix"
    last = FILES[STEPS[-1]]
    files = FILES | {STEPS[-1]: f"{altered}\nGO\n{last}"}
    assert run(lab, SQLCMD, files) == [NOT_WHOLE]
    assert f"NOT installed: missing, or not as these files make it: {name}, so" in lab.said[-1]
    assert run(lab, SQLCMD) == [] and lab.said[-1].endswith(": installed.")


@pytest.mark.parametrize("part", [one for one in PARTS if MODULE.search(one)][1::9])
def test_a_tool_that_opens_a_connection_for_each_batch_and_goes_on_ends_with_nothing_switched_on(
    lab, clean, part
):
    first = "SET QUOTED_IDENTIFIER ON;"
    numbers = run(lab, first, failing_in(part), apart=True)
    assert numbers[0] == 50000 and NOT_WHOLE in numbers
    assert not [text for text in lab.said if ": installed" in text]
    if lab.rows("SELECT 1 FROM sys.tables WHERE name = N'DeploymentHistory';"):
        assert lab.rows("SELECT * FROM audit.DeploymentHistory;") == []
    assert not [row for row in installed(lab)["queues"] if row[1]]
    assert run(lab, first, apart=True) == [] and lab.said[-1].endswith(": installed.")
    assert differences(clean, installed(lab)) == []


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_line_ends_of_another_system_are_no_difference(lab, ends):
    assert run(lab, SQLCMD, {k: v.replace("\n", ends) for k, v in FILES.items()}) == []
    assert lab.said[-1].endswith(": installed.")


def test_a_second_run_changes_nothing(lab, clean):
    run(lab, SQLCMD)
    assert run(lab, SQLCMD) == []
    assert differences(clean, installed(lab)) == []
    assert lab.rows("SELECT COUNT(*) FROM audit.DeploymentHistory;") == [(1,)]


def test_a_deployment_that_is_running_is_named_and_nothing_is_done(lab):
    other = lab.instance.connect(DATABASE)
    other.execute(
        "EXECUTE sys.sp_getapplock N'redial deploy audit', N'Exclusive', N'Session';"
    ).ok()
    assert run(lab, SQLCMD)[0] == OTHER_RUNS
    assert "A deployment of configuration audit is running" in lab.said[0]
    assert lab.rows("SELECT name FROM sys.objects WHERE is_ms_shipped = 0;") == []
    other.close()
    assert run(lab, SQLCMD) == []


def test_no_mark_of_the_run_is_left(lab):
    run(lab, SQLCMD)
    marks = "SELECT value FROM sys.extended_properties WHERE name = N'Redial.files';"
    assert lab.rows(marks) == []


def test_a_file_holds_its_parts_in_order_and_little_around_them():
    files = rendered(AUDIT)
    for name, place in PLACES.items():
        lines = FILES[place.file].split("\n")[place.first - 1 : place.last]
        assert files[name].endswith(("\n".join(lines) + "\n").replace(STOP, "")), name
    inside = sum(place.last - place.first + 1 for place in PLACES.values())
    around = sum(text.count("\n") for text in FILES.values()) - inside
    assert around < 30 * len(FILES) + 2 * len({name[:2] for name in PLACES}) * 3


def test_nothing_stands_twice_in_a_folder():
    names = {path.name for path in (GENERATED / "audit").iterdir()}
    assert not [name for name in names if PART.fullmatch(name)]
    assert {*FILES, CONTENTS, "SHA256SUMS"} <= names


@pytest.mark.parametrize("kind", ["table", "type", "procedure"])
def test_parts_run_one_by_one_activate_nothing_without_all_it_needs(lab, kind):
    """Nobody stops whoever runs the parts by hand: the activation script looks for itself."""
    core = [name for name, place in PLACES.items() if place.file == "1_core.sql"]
    part = [name for name in core if f".{kind}." in name][-1]
    for name, text in lab.files.items():
        if PART.fullmatch(name) and name != part:
            for batch in split(text):
                out = lab.sa.execute(batch.sql)
                assert out.finished
                if name == "87_queues.activation.sql" and "ALTER QUEUE" in batch.sql:
                    assert [error.number for error in out.errors] == [50199]
    assert lab.rows(
        "SELECT COUNT(*) FROM sys.service_queues WHERE is_activation_enabled = 1 "
        "AND is_ms_shipped = 0;"
    ) == [(0,)]


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
