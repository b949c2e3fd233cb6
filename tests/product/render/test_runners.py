"""What other tools do to a script: the cases they were reported with, and what we refuse to render."""

import shutil

import pytest

from redial.config import load
from redial.paths import CONFIGS, GENERATED, TEMPLATES
from redial.render import RenderError, check, write
from redial.render.runners import MARKS, RUNNERS, unsafe

AUDIT = load(CONFIGS / "audit.toml")
CUT = {runner.name: runner.cut for runner in RUNNERS}
GO_SQLCMD, SSMS, DBUP, GRATE, DBATOOLS, DBHUB, GO_MSSQLDB = CUT

REPORTED = [
    # (tool, what it was given, what it sends): as each report says, the reference beside it where it differs
    pytest.param(DBUP, "/*comment*/GO--comment", ["/*comment*/GO--comment"], id="DbUp 548"),
    pytest.param(DBUP, "GO\nGO--Dummy comment", ["GO--Dummy comment"], id="dbup-sqlserver 23"),
    pytest.param(DBUP, "select a\nGO;\nselect b", ["select a", "select b"], id="DbUp 51"),
    pytest.param(DBUP, "/*\nGO\n*/\nselect 1", ["/*\nGO\n*/\nselect 1"], id="DbUp 44"),
    pytest.param(DBUP, "select 1 GO select 2", ["select 1", "select 2"], id="DbUp within a line"),
    pytest.param(
        DBUP, "/* a /* b\nGO\n*/ c */\nx", ["/* a /* b\nGO\n*/ c */\nx"], id="DbUp nested"
    ),
    pytest.param(DBATOOLS, "/*\nGO\n*/\nselect 1", ["/*", "*/\nselect 1"], id="dbatools 6569"),
    pytest.param(
        DBATOOLS, "exec p N'a\nGO\nb'", ["exec p N'a", "b'"], id="dbatools 9120, a line in a string"
    ),
    pytest.param(DBATOOLS, "select 1\nGO 2\nselect 3", ["select 1\nGO 2\nselect 3"], id="no count"),
    pytest.param(
        GO_SQLCMD,
        "BEGIN TRANSACTION\nGO\nUPDATE t SET c = 'v' WHERE id = -5;\nGO\nCOMMIT",
        ["BEGIN TRANSACTION", "UPDATE t SET c = 'v' WHERE id = -5;", "COMMIT"],
        id="go-sqlcmd 569",
    ),
    pytest.param(
        GO_SQLCMD,
        "/* a /* b */\nGO\nc */ x",
        ["/* a /* b */", "c */ x"],
        id="go-sqlcmd does not nest",
    ),
    pytest.param(
        GO_SQLCMD, "a\nGO\t2\nb", ["a\nGO\t2\nb"], id="go-sqlcmd wants blanks before a count"
    ),
    pytest.param(GO_SQLCMD, "a\n  go 2\nb", ["a", "b"], id="go-sqlcmd, a count and blanks before"),
    pytest.param(SSMS, "a\nGO\t2\nb", ["a", "b"], id="SSMS takes a tab"),
    pytest.param(SSMS, "a\nGO--comment\nb", ["a", "b"], id="SSMS takes a comment at once"),
    pytest.param(SSMS, "a\ngoto b\nc", ["a\ngoto b\nc"], id="SSMS knows goto"),
    pytest.param(SSMS, "select '\nGO\n'\nGO\nx", ["select '\nGO\n'", "x"], id="SSMS knows strings"),
    pytest.param(
        GRATE, "select [it's]\nGO\nselect 'b'", ["select [it's]\nGO\nselect 'b'"], id="grate"
    ),
    pytest.param(GRATE, "select 'it''s' GO x", ["select 'it''s'", "x"], id="grate within a line"),
    pytest.param(DBHUB, "a\nGO 3\nb -- GO\n'GO'", ["a", "b -- GO\n'GO'"], id="dbhub 374"),
    pytest.param(
        GO_MSSQLDB, "select 1\ngo\nselect\n  gone_ts", ["select 1", "select", "ne_ts"], id="247"
    ),
]


@pytest.mark.parametrize(("tool", "given", "sent"), REPORTED)
def test_each_tool_cuts_as_was_reported(tool, given, sent):
    assert CUT[tool](given) == sent


PLAIN = "SELECT 1;\nGO\nCREATE PROCEDURE p AS\n/* it's */ PRINT N'x -- y'; -- don't\nGO\n"
NOT_SAFE = [
    ("/*\nGO\n*/\nSELECT 1;\nGO\n", "dbatools"),
    ("PRINT N'a\nGO\nb';\nGO\n", "dbatools"),
    ("PRINT N'a\ngo\nb';\nGO\n", "dbatools"),
    ("SELECT 1 GO;\nGO\n", "DbUp"),
    ("SELECT 1 AS GO\nFROM t;\nGO\n", "grate"),
    ("SELECT [it's];\nGO\nPRINT N'x';\nGO\n", "grate"),
    ("SELECT 1;\nGO 2\nSELECT 2;\nGO\n", "dbatools"),
    ("SELECT 1;\nGO -- all\nSELECT 2;\nGO\n", "dbatools"),
    ("/* a /* b */\nGO */\nSELECT 1;\nGO\n", "go-sqlcmd"),
    ("/* /* */ ' */\nSELECT 1;\nGO\nPRINT N'x';\nGO\n", "go-sqlcmd"),
    ("SELECT 1;\nGO/* all */\nSELECT 2;\nGO\n", "SSMS"),
    ("SELECT\n  gone\nFROM t;\nGO\n", "go-mssqldb"),
    ("PRINT N'$(x)';\nGO\n", "sqlcmd"),
    ("/* $(x) */ SELECT 1;\nGO\n", "sqlcmd"),
    ("PRINT N'${x}';\nGO\n", "Flyway"),
    ("PRINT N'$x-1$';\nGO\n", "DbUp"),
    ("PRINT N'{{x}}';\nGO\n", "grate"),
    ("/*\nexit\n*/ SELECT 1;\nGO\n", "command of sqlcmd"),
    ("PRINT N'\n:r x.sql';\nGO\n", "command of sqlcmd"),
    ("  !! dir\nGO\n", "command of sqlcmd"),
    ("On Error exit\nGO\n", "command of sqlcmd"),
    ("/* a \\\n*/ SELECT 1;\nGO\n", "joins with the next"),
]


@pytest.mark.parametrize(("text", "who"), NOT_SAFE, ids=[text[:30] for text, _ in NOT_SAFE])
def test_a_script_that_some_tool_would_take_otherwise_is_seen(text, who):
    assert any(who in line for line in unsafe(text)), unsafe(text)


def test_each_mark_and_each_tool_is_what_some_case_is_refused_for():
    """A tool or mark nobody is refused for would never be missed."""
    said = " ".join(line for text, _ in NOT_SAFE for line in unsafe(text))
    assert [what for what in MARKS if f"is {what}" not in said] == []
    assert [runner.name for runner in RUNNERS if f"{runner.name} would" not in said] == []


def test_a_plain_script_is_safe():
    assert unsafe(PLAIN) == []


SCRIPTS = sorted(GENERATED.rglob("*.sql"))


def test_we_ship_scripts():
    assert len(SCRIPTS) > 40


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_script_we_ship_is_safe_under_every_tool(path):
    assert unsafe(path.read_text("utf-8")) == []


def test_a_template_that_some_tool_would_cut_wrong_is_refused_and_nothing_is_written(tmp_path):
    templates = tmp_path / "sql" / "templates" / "10_a"
    templates.mkdir(parents=True)
    into = tmp_path / "generated"
    for folder in ("20_security", "97_files"):
        ignored = shutil.ignore_patterns("*.sql.j2")
        shutil.copytree(TEMPLATES / "core" / folder, templates.parent / folder, ignore=ignored)
    file = templates / "x.view.sql.j2"
    file.write_text("/*\nGO\n*/\nSELECT 1;\nGO\n", encoding="utf-8")
    with pytest.raises(
        RenderError, match=r"0_preflight\.sql, dbatools would end a batch elsewhere"
    ):
        write(AUDIT, into, tmp_path / "sql")
    assert not into.exists()
    file.write_text("SELECT 1;\nGO\n", encoding="utf-8")
    write(AUDIT, into, tmp_path / "sql")
    file.write_text("/* $(x) */\nSELECT 1;\nGO\n", encoding="utf-8")
    lines = check(AUDIT, into, tmp_path / "sql", tools=True)
    assert any("$(" in line and "sqlcmd" in line for line in lines)
