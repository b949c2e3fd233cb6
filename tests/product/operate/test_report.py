"""``redial report`` on servers: what stands on the page, who may see it, and what happens to the file."""

from __future__ import annotations

import json
import re
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import pytest

from redial.charts import moment
from redial.cli import report as command
from redial.cli.deploy import deploy
from redial.cli.errors import UserError
from redial.cli.report import report
from redial.config import Config, load
from redial.deploy import apply, connect_odbc
from redial.operate.doctor import Place, Status
from redial.operate.report import asking
from redial.operate.report.model import Page, Section, Table, Unseen
from redial.operate.report.page import LONGEST, as_json, html, text
from redial.paths import CONFIGS
from redial.render import render
from redial.server import EMBEDDED_LABEL, with_database
from tests.product.deploy.conftest import logged_in_as, run, status_of, two_databases

AUDIT = load(CONFIGS / "audit.toml")
EVENT = AUDIT.message_types[0].name
PASSWORD = "Op-3rator"
NOBODY = "Server=127.0.0.1,1;Database=shop;UID=sa;PWD={hidden word}"
HOSTILE = "<script>alert(1)</script> & 'x' \"y\" \n </td></table> \x1b[2J \u202e " + "z" * 4000
DIALOG = "11111111-1111-1111-1111-111111111111"
ENDED = (
    "INSERT INTO audit.ConversationLog (Handle, ConversationId, ConfigId, BegunUtc, EndOfStreamUtc, "
    f"EndedUtc, Messages, Resent, DeadLettered, Code) VALUES ('{DIALOG}', '{DIALOG}', 1, "
    "DATEADD(minute, -50, SYSUTCDATETIME()), DATEADD(minute, -41, SYSUTCDATETIME()), "
    "DATEADD(minute, -40, SYSUTCDATETIME()), 2, 0, 0, 0);"
)
"""A dialog that was begun, carried two messages, and has ended."""
LANDED = (
    "INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, MessageType, LandedUtc, "
    f"SentUtc) SELECT '{DIALOG}', '{DIALOG}', v.Number, N'{EVENT}', DATEADD(minute, -45, SYSUTCDATETIME()), "
    "DATEADD(second, -2705, SYSUTCDATETIME()) FROM (VALUES (0), (1)) AS v(Number);"
)
"""Both of them, five seconds after they were sent."""


@pytest.fixture
def there(tmp_path):
    """Where the page goes."""
    return tmp_path / "page.html"


def says(capsys, server, there: Path, **options) -> tuple[int, str]:
    """Exit status, and all that is said."""
    capsys.readouterr()
    status = status_of(report, server=server, out=str(there), **options)
    out, err = capsys.readouterr()
    return status, out + err


def figures(there: Path):
    return json.loads(there.with_suffix(".json").read_text("utf-8"))


def rows(said, section: str, table: str) -> dict:
    return {row[0]: row[1:] for row in said["sections"][section]["tables"][table]["rows"]}


@pytest.fixture
def login(site):
    """A login of its own in the database, and how it gets in."""
    run(site.server, f"CREATE LOGIN w WITH PASSWORD = '{PASSWORD}';")
    run(site.server, "CREATE USER w FOR LOGIN w;")
    return logged_in_as(site.server, "w", PASSWORD)


# --- what stands there -------------------------------------------------------------------------


@pytest.mark.driver
def test_an_installation_without_a_message_is_clean_and_the_head_says_what_it_is_about(
    site, there, capsys
):
    status, said = says(capsys, site.server, there)
    assert status == Status.CLEAN, said
    page, found = there.read_text("utf-8"), figures(there)
    assert found["status"] == 0 and found["label"] == EMBEDDED_LABEL
    assert f"Every figure on this page is of: {EMBEDDED_LABEL}" in page
    assert "Everything that belongs here could be looked at." in page
    facts = found["facts"]
    assert facts["configuration"] == "audit" and facts["database"] == "site"
    assert facts["asked by"] == "sa" and " UTC" in facts["made"]
    assert list(found["sections"]) == [
        *("accounting", "flow", "dialogs", "dead", "drift", "history", "doctor")
    ]
    assert found["sections"]["drift"]["said"][0] == "Nothing differs from the files"
    assert "1 deployment, the last 20" in found["sections"]["history"]["said"][0]
    assert f"page: {there}" in said and "page.json" in said


@pytest.mark.driver
def test_messages_are_accounted_for_and_timed_by_the_servers_own_rows(site, there, capsys):
    run(site.server, ENDED + LANDED)
    assert says(capsys, site.server, there)[0] == Status.CLEAN
    found = figures(there)
    assert found["verdict"].endswith(
        "2 messages sent on 1 dialog that ended: every one is accounted for"
    )
    assert rows(found, "accounting", "sums")["landed"][0] == 2
    said = " ".join(found["sections"]["flow"]["said"])
    assert "2 messages landed" in said and "half within 5 s" in said
    assert "1 dialog recycled in 1 d" in found["sections"]["dialogs"]["said"][0]
    assert there.read_text("utf-8").count("<svg") == 4
    says(capsys, site.server, there, hours=1)
    wide = figures(there)["sections"]["flow"]["tables"]["bins"]["caption"]
    assert wide == "Messages, in bins of 5 min", "a shorter period has finer bins"


@pytest.mark.driver
def test_a_message_that_is_gone_is_3_and_stands_in_the_verdict(site, there, capsys):
    run(site.server, ENDED + LANDED + "DELETE FROM audit.Landing WHERE MessageSequence = 1;")
    status, said = says(capsys, site.server, there)
    assert status == Status.ACT_NOW
    assert "act now; accounting: 1 message not accounted for, of 2 messages" in said
    assert DIALOG in rows(figures(there), "accounting", "missing")
    assert "1 message not accounted for" in there.read_text("utf-8")


@pytest.mark.driver
def test_what_was_purged_is_not_called_lost(site, there, capsys):
    run(site.server, ENDED)
    assert says(capsys, site.server, there)[0] == Status.ACT_NOW
    run(
        site.server,
        f"INSERT INTO audit.OperatorLog (Action) VALUES (N'{asking.LANDING_PURGED}');",
    )
    assert says(capsys, site.server, there)[0] == Status.CLEAN
    assert "landed rows were purged" in there.read_text("utf-8")


def test_the_names_of_purges_are_those_that_the_procedures_write():
    """Else a purge would look like a loss."""
    text_ = "\n".join(render(AUDIT).values())
    for name in (asking.LANDING_PURGED, asking.LETTERS_PURGED, asking.LOGS_PURGED):
        assert re.search(rf"(VALUES \(|SELECT )N'{name}',", text_), name


@pytest.mark.driver
def test_what_doctor_and_verify_find_stands_there_with_what_to_do(site, there, capsys):
    run(site.server, "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    run(site.server, "DROP VIEW audit.vw_Errors;")
    status, said = says(capsys, site.server, there)
    assert status == Status.ACT_NOW and "act now" in said
    found = figures(there)
    assert found["sections"]["doctor"]["status"] == Status.ACT_NOW
    assert "vw_Errors" in str(found["sections"]["drift"]["tables"]["differences"]["rows"])
    page = there.read_text("utf-8")
    assert "queue off" in page and "usp_StartQueue" in page and "docs/runbook/queue-off.md" in page


@pytest.mark.driver
def test_a_hostile_reason_is_text_and_cut(site, there, capsys):
    hostile = HOSTILE[:2900].replace("'", "''")
    run(
        site.server,
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence, MessageType, Reason) "
        f"VALUES (N'target', '{DIALOG}', 0, N'<img src=x onerror=alert(1)>', N'{hostile}');",
    )
    assert says(capsys, site.server, there)[0] == Status.ACT_NOW
    page = there.read_text("utf-8")
    assert "<script" not in page and "<img" not in page and "\x1b" not in page
    assert "&lt;script&gt;" in page and "&lt;img" in page and "z" * 301 not in page


OTHER = ENDED.replace(DIALOG, "22222222-2222-2222-2222-222222222222")


@pytest.mark.driver
@pytest.mark.parametrize(
    ("more", "words", "status"),
    [
        ("", "Only the newest 1 rows of Landing were read", Status.CLEAN),
        (OTHER, "ConversationLog has more than 1 dialogs", Status.NOT_ALL),
    ],
)
def test_a_bound_that_was_reached_is_said(more, words, status, site, there, capsys, monkeypatch):
    for module in ("asking", "accounts", "flow"):
        monkeypatch.setattr(f"redial.operate.report.{module}.LOOKED", 1)
    run(site.server, ENDED + LANDED + more)
    assert says(capsys, site.server, there)[0] == status
    assert words in there.read_text("utf-8")


@pytest.mark.driver
def test_every_shipped_configuration_has_a_page(site):
    """Each with its own choices: other columns are filled, other modules are there."""
    for name in ("etl", "logging", "orders"):
        deploy(name, server=site.empty)
        page = command.made(command.Asked(load(CONFIGS / f"{name}.toml"), site.empty))
        assert {one.status for one in page.sections} == {Status.CLEAN}, page.verdict
        jobs = [one for one in page.unseen if "whether the jobs run cannot be seen" in one.next]
        assert page.unseen == tuple(jobs), "there is no msdb in the embedded broker"


# --- who may see what --------------------------------------------------------------------------


@pytest.mark.driver
def test_an_operator_sees_all_but_what_landed_and_is_told_which_role_does(
    site, login, there, capsys
):
    run(site.server, ENDED + LANDED + "ALTER ROLE audit_operator ADD MEMBER w;")
    status, said = says(capsys, login, there)
    assert status == Status.NOT_ALL
    assert "what landed" in said and "ALTER ROLE [audit_reader] ADD MEMBER" in said
    found = figures(there)
    assert found["sections"]["accounting"]["said"][0].startswith("Not to be made")
    parts = rows(found, "accounting", "parts")
    assert parts["sent"] == [2] and parts["landed"] == [None]
    hidden = {one["what"] for one in found["not_looked_at"]}
    assert "what landed" in hidden and "drift" in hidden
    assert "not known" in there.read_text("utf-8")


@pytest.mark.driver
def test_a_reader_sees_what_landed_and_not_the_dead_letters(site, login, there, capsys):
    run(site.server, ENDED + LANDED + "ALTER ROLE audit_reader ADD MEMBER w;")
    status, said = says(capsys, login, there)
    assert status == Status.NOT_ALL and "ALTER ROLE [audit_operator] ADD MEMBER" in said
    found = figures(there)
    assert "2 messages landed" in found["sections"]["flow"]["said"][0]
    assert found["sections"]["dead"]["said"][0].startswith("Not known")


@pytest.mark.driver
def test_nothing_waits_for_somebody_who_holds_the_tables(site, there, capsys):
    run(site.server, ENDED + LANDED)
    with closing(connect_odbc(site.server)()) as other:
        other.autocommit = False
        other.execute(
            "UPDATE audit.ConversationLog SET Code = 1; UPDATE audit.Landing SET Body = 0x01;"
        )
        other.execute("DELETE FROM audit.Landing WHERE MessageSequence = 1;")
        status, said = says(capsys, site.server, there)
        other.rollback()
    assert status in (Status.CLEAN, Status.ACT_NOW), said
    assert figures(there)["not_looked_at"] == []


# --- nothing to look at ------------------------------------------------------------------------


@pytest.mark.driver
@pytest.mark.parametrize("which", ["empty", "dead", "embedded"])
def test_where_nothing_can_be_looked_at_it_is_4_and_the_last_page_stays(
    which, site, there, capsys, monkeypatch
):
    monkeypatch.setattr("redial.server.CONNECT_SECONDS", 1)
    monkeypatch.setattr("redial.deploy.port.CONNECT_SECONDS", 1)
    there.write_text("of yesterday")
    server = {"empty": site.empty, "dead": NOBODY, "embedded": "embedded"}[which]
    status, said = says(capsys, server, there)
    assert status == Status.NOT_ALL
    assert "nothing was written to" in said and "Next: " in said
    assert ("is not installed" in said) == (which != "dead") and "hidden word" not in said
    assert there.read_text() == "of yesterday" and not there.with_suffix(".json").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hours": 0}, "use 1 to"),
        ({"hours": 99_999}, "use 1 to"),
        ({"out": "page"}, "is the name of no page"),
        ({"out": "page.json"}, "is the name of no page"),
        ({"out": "no/such/folder/page.html"}, "there is no folder"),
        ({"wait_seconds": -1}, "is no time to wait"),
        ({"server": "nonsense"}, "is not understood"),
    ],
)
def test_an_error_of_the_command_line_is_1_and_asks_nobody(options, words, capsys):
    assert status_of(report, **({"server": NOBODY} | options)) == 1
    assert words in capsys.readouterr().err


# --- two databases -----------------------------------------------------------------------------


@pytest.fixture
def two(monkeypatch):
    """The configuration with the target in another database, and nothing rendered of it."""
    data = AUDIT.model_dump(by_alias=True, mode="json")
    config = Config.model_validate(data | {"target": data["target"] | {"database": "depot"}})
    monkeypatch.setattr(command, "load_named", lambda _: config)
    monkeypatch.setattr(command, "reviewed", lambda *_: None)
    return config


@pytest.mark.driver
def test_both_databases_are_asked_and_one_that_cannot_be_is_named(two, there, capsys):
    with two_databases("shop", "depot") as (broker, connect):
        apply(two, connect)
        server = with_database(broker.odbc, "shop")
        run(server, ENDED)
        run(with_database(server, "depot"), LANDED)
        status, said = says(capsys, server, there)
        assert status == Status.CLEAN, said
        found = figures(there)
        assert rows(found, "accounting", "sums")["landed"][0] == 2
        assert found["facts"]["target's database"] == "depot"
        run(
            with_database(server, "master"),
            "ALTER DATABASE depot SET OFFLINE WITH ROLLBACK IMMEDIATE;",
        )
        status, said = says(capsys, server, there)
        assert status == Status.NOT_ALL
        assert "database depot: everything of the target's side" in said
        assert figures(there)["sections"]["flow"]["said"][0].startswith("Not known")


# --- the files ---------------------------------------------------------------------------------

PAGE = Page(
    HOSTILE,
    HOSTILE,
    (("server", HOSTILE),),
    (
        Section(
            "accounting",
            HOSTILE,
            (HOSTILE, HOSTILE),
            Status.WARNINGS,
            (Table("t", HOSTILE, (HOSTILE, "n"), ((HOSTILE, 1_234_567), (HOSTILE, None))),),
        ),
    ),
    (Unseen(Place(HOSTILE, HOSTILE), HOSTILE, HOSTILE, HOSTILE),),
)


class Tags(HTMLParser):
    """Every element of a page, and what is open at its end."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def test_whatever_a_server_says_is_text_one_line_and_not_long():
    page = html(PAGE)
    tags = Tags()
    tags.feed(page)
    assert tags.open == [] and tags.links == ["data:,"], "nothing from elsewhere"
    assert not {"script", "img", "iframe"} & set(tags.found)
    assert "\u202e" not in page and "\x1b" not in page and "z" * (LONGEST + 1) not in page
    assert "1,234,567" in page and "not known" in page and "4,0" in page
    assert json.loads(as_json(PAGE))["config"] == HOSTILE, "a program gets it whole"
    assert "\x1b" not in text(PAGE) and "\u202e" not in text(PAGE)


def test_a_page_says_what_of_it_makes_the_status():
    assert PAGE.status == Status.NOT_ALL
    clean = Section("a", "A", ("all is well",))
    wrong = Section("b", "Dead letters", ("2 unhandled",), Status.ACT_NOW)
    page = Page("audit", "", (), (clean, wrong), PAGE.unseen)
    assert page.status == Status.ACT_NOW and page.verdict == "act now; dead letters: 2 unhandled"
    assert Page("audit", "", (), (clean,), ()).verdict == "nothing is wrong; a: all is well"
    assert 'class="label"' not in html(page), "a server's figures need no word"


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(there):
    there.write_text("x" * 10**6)
    beside = command.write(PAGE, there)
    assert there.read_text("utf-8") == html(PAGE) and beside.read_text("utf-8") == as_json(PAGE)
    assert sorted(there.parent.iterdir()) == sorted([there, beside])


@pytest.mark.parametrize("in_the_way", ["page.html", "page.json"])
def test_a_file_that_cannot_be_written_leaves_nothing_half_done(in_the_way, there):
    (there.parent / in_the_way).mkdir()
    with pytest.raises(UserError, match=f"{in_the_way}.*is a folder"):
        command.write(PAGE, there)
    assert not [one for one in there.parent.iterdir() if one.name.startswith(".")]
    assert (there.parent / in_the_way).is_dir()


@pytest.mark.driver
def test_a_folder_that_cannot_be_written_is_1_and_named(site, there, capsys, monkeypatch):
    """Root may write everywhere, so the refusal is the system's word alone."""

    def refused(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "write_text", refused)
    status, said = says(capsys, site.server, there)
    assert status == 1 and "Permission denied" in said and str(there.parent) in said


def test_a_moment_is_shown_in_utc():
    assert moment(0) == "1970-01-01 00:00:00"
