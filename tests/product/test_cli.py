"""Commands: exit status, and errors that name object, cause and next command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import tasks
from redial.cli import configs, server
from redial.cli.broker import broker
from redial.cli.deploy import deploy, verify
from redial.cli.errors import UserError, command, explained
from redial.cli.init import init
from redial.cli.lint import lint
from redial.cli.server import connection_string, open_server
from redial.cli.uninstalling import uninstall
from redial.config import ConfigError
from redial.deploy import DeployError, connect_odbc
from redial.paths import ROOT
from redial.render import RenderError
from redial.server import Server, database_of, with_database
from redial.wheel import FILE
from redial_broker.tds.embedded import EmbeddedBroker
from redial_lab.commands.demo import clients_of, demo
from redial_lab.commands.probe import probe, record
from redial_lab.probe import Finding, probes, run
from redial_lab.probe.ports import odbc
from redial_lab.scenarios.client_load import Load, Run, call_text, demo_config
from redial_lab.scenarios.sender import ClientCount

REDIAL = [sys.executable, "-c", "from redial.cli.main import main; main()"]
"""The console command, whose script is not on every path."""


def status_of(function, *arguments, **options):
    """Exit status and standard error of a command."""
    try:
        function(*arguments, **options)
    except SystemExit as stop:
        return stop.code
    return 0


# --- errors ------------------------------------------------------------------------------------


def odbc_error(state, text):
    """An error as pyodbc raises it, without a server."""
    kind = type("Error", (Exception,), {"__module__": "pyodbc"})
    return kind(state, f"[{state}] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]{text}")


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (UserError("--port 99999", "is no port", "pass 0"), ["--port 99999", "is no port"]),
        (ConfigError("a.toml", ["name: is missing"]), ["a.toml", "name: is missing"]),
        (RenderError("templates/x.sql.j2:3: bad"), ["x.sql.j2:3"]),
        (DeployError("30_x.sql", 7, 2714, "There is already"), ["30_x.sql:7", "2714"]),
        (FileNotFoundError(2, "No such file", "/x/y.json"), ["/x/y.json", "No such file"]),
        (ImportError("libodbc.so.2: cannot open"), ["libodbc.so.2", "tools/setup"]),
        (odbc_error("28000", "Login failed for user 'x'. (18456) (SQLDriverConnect)"), ["UID"]),
        (odbc_error("42000", "Cannot open database (4060) (SQLDriverConnect)"), ["--create"]),
        (odbc_error("08001", "refused (0) (SQLDriverConnect)"), ["redial broker"]),
        (odbc_error("IM002", "no default driver"), ["tools/setup"]),
    ],
)
def test_every_expected_error_names_object_cause_and_next_command(error, parts):
    text = explained(error)
    assert text is not None
    for part in [*parts, "Next: "]:
        assert part in text


def test_an_unexpected_error_keeps_its_traceback():
    @command
    def broken():
        raise KeyError("a defect of ours")

    with pytest.raises(KeyError):
        broken()


def test_a_commands_status_is_its_return_value(capsys):
    assert status_of(command(lambda: 2)) == 2
    assert status_of(command(lambda: None)) == 0


# --- configs and render ------------------------------------------------------------------------


def test_render_check_passes_for_what_is_committed(capsys):
    assert status_of(configs.render, None, True) == 0
    assert "sql/generated/audit: up to date" in capsys.readouterr().out


def test_render_check_fails_and_names_the_stale_file(capsys, monkeypatch):
    monkeypatch.setattr(
        configs, "check", lambda model, into, tools: ["1_core.sql: stale; run redial render"]
    )
    assert status_of(configs.render, "audit", True) == 1
    assert "1_core.sql: stale" in capsys.readouterr().out


def test_a_folder_of_rendered_text_without_a_configuration_is_named(capsys, tmp_path, monkeypatch):
    init(str(tmp_path / "mine"), "mine")
    monkeypatch.chdir(tmp_path / "mine" / "sql")
    assert status_of(configs.render, None, True) == 0
    (tmp_path / "mine" / "sql" / "generated" / "old").mkdir()
    assert status_of(configs.render, None, True) == 1
    assert "sql/generated/old: there is no sql/configs/old.toml" in capsys.readouterr().out
    assert status_of(configs.render) == 0


def test_a_project_folder_is_asked_for_by_name_where_there_is_none(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert status_of(configs.render) == 1
    assert "redial init DIR" in capsys.readouterr().err


def test_a_project_folder_without_configurations_says_so(capsys, tmp_path, monkeypatch):
    (tmp_path / "sql" / "configs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for command_ in (configs.render, lambda: deploy("audit"), lambda: lint([])):
        assert status_of(command_) == 1
        assert "there is no configuration in it" in capsys.readouterr().err


def test_init_overwrites_nothing(capsys, tmp_path):
    init(str(tmp_path), "mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert status_of(init, str(tmp_path), "mine") == 1
    assert "nothing is overwritten" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["", "Mine", "a b", "1st", "x" * 65, "../x", 'a"b'])
def test_init_refuses_a_name_no_configuration_may_have(name, capsys, tmp_path):
    assert status_of(init, str(tmp_path / "new"), name) == 1
    assert "is no name of a configuration" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_init_does_not_take_an_option_for_a_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert status_of(init, "--help") == 1
    assert "begins with a dash" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_init_does_not_take_a_file_for_a_folder(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert status_of(init, str(tmp_path / "file")) == 1
    assert "is a file" in capsys.readouterr().err


@pytest.mark.parametrize(("module", "extra"), [("lxml.etree", "broker"), ("pyspark", "spark")])
def test_a_missing_module_of_an_extra_is_answered_with_the_command_that_adds_it(module, extra):
    text = explained(ModuleNotFoundError(f"No module named {module!r}", name=module))
    assert text and f"pip install '{FILE}[{extra}]'" in text


def test_a_missing_module_of_nobody_is_a_defect():
    assert explained(ModuleNotFoundError("No module named 'x'", name="x")) is None


def test_an_unknown_config_is_answered_with_the_known_ones(capsys):
    assert status_of(deploy, "adit") == 1
    error = capsys.readouterr().err
    assert "--config adit" in error and "use one of: audit" in error
    assert "did you mean audit?" in error


# --- servers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["localhost", "mssql://sa@localhost", "jdbc:sqlserver://x;a=b"])
def test_a_server_that_is_no_connection_string_is_refused(text):
    with pytest.raises(UserError, match="pass 'embedded' or an ODBC connection string"):
        connection_string(text)


@pytest.mark.parametrize(
    "text",
    [
        "mssql://sa:Se-cret1@host/shop",
        "jdbc:sqlserver://host;user=sa;password=Se-cret1",
        "sa@host Se-cret1",
    ],
)
def test_what_is_refused_is_not_echoed_with_its_password(text):
    with pytest.raises(UserError) as refused:
        connection_string(text)
    assert "Se-cret1" not in str(refused.value)


@pytest.mark.driver
def test_each_way_not_to_get_in_has_its_own_advice(capsys):
    with EmbeddedBroker() as running:
        pairs = running.odbc.replace("TrustServerCertificate=yes", "TrustServerCertificate=no")
        assert pairs != running.odbc
        wrong = re.sub(r"PWD=(\{[^}]*\}|[^;]*)", "PWD=wrong", running.odbc)
        for odbc, words in (
            (with_database(wrong, "shop"), "check UID and PWD"),
            (with_database(running.odbc, "nowhere"), "redial deploy --create"),
            (with_database(pairs, "shop"), "its certificate is not trusted"),
        ):
            assert status_of(verify, "audit", odbc) == 1
            said = capsys.readouterr().err
            assert words in said and "Next: " in said


def test_nobody_listens_and_the_answer_comes_within_the_time_said(capsys, monkeypatch):
    """The least time, so that the test does not wait long."""
    monkeypatch.setattr("redial.deploy.port.CONNECT_SECONDS", 1)
    with pytest.raises(Exception) as refused:
        connect_odbc(connection_string("Server=127.0.0.1,1;UID=a;PWD=b"))()
    assert "check that the server runs" in (explained(refused.value) or "")


def test_a_connection_string_without_a_driver_gets_microsofts():
    assert re.match(r"Driver=\{.*msodbcsql.*\};Server=x", connection_string("Server=x"))
    assert connection_string("DSN=mine;UID=x") == "DSN=mine;UID=x"


@pytest.mark.parametrize("database", ["", "Database=master;", "Initial Catalog={MSDB};"])
def test_system_databases_are_refused_before_anything_is_sent(database):
    text = f"Driver={{none}};Server=x;{database}UID=a"
    with (
        pytest.raises(UserError, match="--database NAME"),
        open_server(text),
    ):
        pass


@pytest.mark.parametrize("called", [deploy, uninstall, verify])
def test_without_a_named_server_nothing_is_deployed_looked_at_or_removed(
    called, capsys, monkeypatch
):
    monkeypatch.delenv("REDIAL_SERVER", raising=False)
    assert status_of(called, "audit") == 1
    error = capsys.readouterr().err
    assert "--server: is missing" in error and "--server embedded" in error


@pytest.mark.parametrize("called", [deploy, uninstall, verify])
@pytest.mark.parametrize("secret", ["", "  "])
def test_an_empty_secret_is_an_error_and_not_the_embedded_broker(
    called, secret, capsys, monkeypatch
):
    assert status_of(called, "audit", server=secret) == 1
    assert "--server: is empty" in capsys.readouterr().err
    monkeypatch.setenv("REDIAL_SERVER", secret)
    assert status_of(called, "audit") == 1
    assert "REDIAL_SERVER: is empty" in capsys.readouterr().err


def test_an_empty_server_option_reaches_the_command_as_one():
    done = subprocess.run(
        [*REDIAL, "verify", "--config", "audit", "--server", ""],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 1 and "--server: is empty" in done.stderr


def test_the_server_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("REDIAL_SERVER", "nonsense")
    with pytest.raises(UserError, match="a text of 8 characters"), open_server(None):
        pass


@pytest.mark.parametrize(
    "text",
    ["Database=old;Server=x", "Server=x;DATABASE = {old};PWD={a;b}", "A=x;Initial Catalog=old"],
)
def test_the_database_of_a_connection_string_is_found_and_replaced(text):
    assert database_of(text) == "old"
    assert database_of(with_database(text, "new")) == "new"
    assert "old" not in with_database(text, "new")


def test_a_password_that_looks_like_a_keyword_stays():
    text = "Server=x;PWD={;Database=fake};Database=real"
    assert database_of(text) == "real"
    assert "PWD={;Database=fake}" in with_database(text, "other")


def test_a_broker_that_does_not_start_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(server, "BROKER", [sys.executable, "-c", "raise SystemExit('no luck')"])
    with pytest.raises(UserError, match="no luck"), server.broker_process():
        pass


# --- broker and demo ---------------------------------------------------------------------------


def test_a_switch_that_is_none_is_refused_with_what_is_allowed(capsys):
    assert status_of(broker, 0, switch=["receive_status=9"]) == 1
    assert "receive_status: '9' is none of its values: 1, 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file or directory"),
        (b"", "its first line has 0 characters"),
        (b"short\nlonger than eight", "its first line has 5 characters"),
        (b"\xff\xfe\x00\x00", "it is not UTF-8"),
    ],
)
def test_a_password_file_without_a_password_is_refused(content, words, capsys, tmp_path):
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    assert status_of(broker, 0, password_file=str(file)) == 1
    assert f"--password-file {file}: {words}" in capsys.readouterr().err


def test_a_broker_takes_a_new_password_each_time_or_that_of_a_file_which_it_does_not_print(
    tmp_path,
):
    file = tmp_path / "password"
    file.write_text("correct horse\nand more\n", encoding="utf-8")
    with server.broker_process() as one, server.broker_process() as two:
        assert re.search(r"PWD=\{(.+?)\}", one.odbc)[1] != re.search(r"PWD=\{(.+?)\}", two.odbc)[1]
    with server.broker_process("--password-file", str(file)) as own:
        assert "correct" not in own.odbc + own.jdbc and f"first line of {file}" in own.odbc
        known = own.odbc.replace(f"first line of {file}", "correct horse")
        connection = connect_odbc(known)()
        assert connection.cursor().execute("SELECT 1").fetchall()[0][0] == 1
        connection.close()


def test_a_port_that_is_none_is_refused(capsys):
    assert status_of(broker, 70_000) == 1
    assert "pass 0 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mutant": "nobody"}, "use one of: article"),
        ({"records": 3}, "pass 8 to 336776"),
        ({"records": 336_777}, "pass 8 to 336776"),
    ],
)
def test_demo_options_out_of_range_are_refused_before_anything_starts(options, words, capsys):
    assert status_of(demo, **options) == 1
    assert words in capsys.readouterr().err


def test_the_demo_only_changes_times_and_strategy_of_the_config():
    own = configs.load_named("audit")
    changed = demo_config(own, Load(records=8, timer_seconds=2), "article")
    assert changed.timer.after_seconds == 2
    assert changed.conversation.timer_strategy.value == "article"
    assert changed.services == own.services and changed.roles == own.roles


def test_the_call_text_quotes_whatever_the_config_holds():
    data = configs.load_named("audit").model_dump(by_alias=True)
    data["schema"] = "a]b"
    data["services"]["initiator"] = "it's"
    text = call_text(demo_config(type(configs.load_named("audit")).model_validate(data), Load(8)))
    assert text.startswith("EXECUTE [a]]b].[usp_Send] @fromService = N'it''s'")


def test_what_all_callers_know_is_one_set():
    run = Run(counts=[ClientCount(0, [(0, 2)], [3]), ClientCount(1, [(0, 0)], [], [(1205, "x")])])
    known = clients_of(run)
    assert known.sent == {(0, 0), (0, 1), (0, 2), (1, 0)}
    assert known.unknown == {(0, 3)} and known.errors == [(1205, "x")]


def test_every_task_has_a_one_line_help():
    listed = subprocess.run(
        [sys.executable, "-m", "invoke", "--list"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    ).stdout
    for name in ("bench", "broker", "demo", "deploy", "render", "test", "uninstall", "verify"):
        assert re.search(rf"^  {name} +\S", listed, re.M), name
        assert tasks.namespace[name].__doc__


# --- probe -------------------------------------------------------------------------------------


def test_an_unknown_probe_is_answered_with_the_known_ones(capsys):
    assert status_of(probe, name="timer_zer") == 1
    assert "--name timer_zer" in (error := capsys.readouterr().err) and "timer_zero" in error


def test_a_probe_of_the_embedded_broker_is_as_expected_and_leaves_no_evidence(capsys, tmp_path):
    found = tmp_path / "found.json"
    assert status_of(probe, name="timer_zero", json_file=str(found)) == 0
    [entry] = json.loads(found.read_text())
    assert entry["settles"] == {"timer_zero": "error"} and entry["status"] == "as expected"
    assert "1 probes on embedded broker, not SQL Server: 1 as expected" in capsys.readouterr().out
    assert status_of(probe, name="timer_zero", evidence=str(tmp_path / "evidence")) == 1
    assert "settle nothing" in capsys.readouterr().err and not (tmp_path / "evidence").exists()


def test_a_real_servers_answers_are_recorded_with_its_version(tmp_path):
    version = "Microsoft SQL Server 2019 (RTM-CU27) - 15.0.4375.4 (X64)"
    finding = Finding("timer_zero", "F-265", "?", "a", "b", {"timer_zero": "now"}, version)
    path = record([finding], version, tmp_path, datetime(2026, 11, 21, tzinfo=UTC))
    assert path.name == "probes-15.0.4375.4-2026-11-21.json"
    [entry] = json.loads(path.read_text())
    assert (entry["status"], entry["version"]) == ("differs", version)


@pytest.mark.driver
def test_probes_run_over_odbc_too():
    with EmbeddedBroker(switches={"receive_unknown": "empty"}) as broker:
        server = Server("", with_database(broker.odbc, "master"))
        [found] = [run(one, odbc(server.connect)) for one in probes("receive_unknown")]
        [failing] = [run(one, odbc(server.connect)) for one in probes("timer_zero")]
    assert found.settles == {"receive_unknown": "empty"} and found.status == "differs"
    assert failing.settles == {"timer_zero": "error"} and not failing.left_behind


@pytest.mark.skipif(sys.platform == "win32", reason="no /dev/full")
def test_what_could_not_be_written_is_said_without_a_traceback():
    redial = Path(sys.executable).with_name("redial")
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [redial, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith("standard output: No space left on device\n  Next: make room")
    assert "Traceback" not in ended.stderr
