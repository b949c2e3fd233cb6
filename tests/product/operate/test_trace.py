"""``redial trace`` over the network: what it takes for what, what it prints, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from redial.cli import listing
from redial.cli.errors import UserError
from redial.cli.trace import question, trace
from redial.config import Config, load
from redial.deploy import apply, connect_odbc
from redial.paths import CONFIGS
from redial.project import Project
from redial.server import with_database
from redial_broker import EmbeddedBroker
from redial_broker.exec.ddl.probing import unprobed
from tests.product.deploy.conftest import logged_in_as, run, two_databases

pytestmark = pytest.mark.driver
GUID = "0a1b2c3d-1111-2222-3333-444455556666"
DEPOT = "depot"
OFF = "ALTER QUEUE {}.TargetQueue WITH ACTIVATION (STATUS = OFF);"
ON = OFF.replace("OFF", "ON")


def sent(server: str, schema: str, body: str, key: str | None = None) -> None:
    """Send as an application does."""
    run(
        server,
        f"EXECUTE {schema}.usp_Send N'//redial/{schema}/initiator', N'//redial/{schema}/target', "
        f"N'//redial/{schema}/contract', N'//redial/{schema}/event', {body}"
        + (f", @key = N'{key}';" if key else ";"),
    )


@pytest.fixture(scope="module")
def whole() -> Iterator[tuple[EmbeddedBroker, str]]:
    """A broker with the configuration orders: a key, and numbers within it."""
    with EmbeddedBroker() as broker, unprobed(broker.call(lambda instance: instance.server)):
        run(broker.odbc, "CREATE DATABASE site;")
        server = with_database(broker.odbc, "site")
        apply(load(CONFIGS / "orders.toml"), connect_odbc(server))
        yield broker, server


@pytest.fixture
def site(whole) -> Iterator[str]:
    broker, server = whole
    moment = broker.call(lambda instance: instance.snapshot())
    yield server
    broker.call(lambda instance: moment.restore())


def ended(capsys: Any, what: str, config: str = "orders", **options: Any) -> tuple[int, str, str]:
    """Status and what was printed."""
    capsys.readouterr()
    status = 0
    try:
        trace(what, config, **options)
    except SystemExit as stop:
        status = int(stop.code or 0)
    said = capsys.readouterr()
    return status, said.out, said.err


def landed(server: str, count: int, schema: str = "orders") -> None:
    """Wait until so many messages have landed."""
    for _ in range(200):
        rows = run(
            server,
            f"WAITFOR DELAY '00:00:00.050'; SELECT COUNT(*) FROM {schema}.Landing "
            "WHERE MessageType LIKE N'%event';",
        )
        if rows[-1][0] >= count:
            return
    raise AssertionError("did not land")


# ------------------------------------------------------------------ what WHAT is taken for
@pytest.mark.parametrize(
    ("what", "kind", "asked"),
    [
        (GUID, "", {"@id": GUID.upper()}),
        ("{" + GUID + "}", "", {"@id": GUID.upper()}),
        (GUID, "key", {"@key": GUID}),
        ("0x7D1", "", {"@rowVersion": bytes.fromhex("00000000000007D1")}),
        ("0x7D1", "key", {"@key": "0x7D1"}),
        ("4711", "", {"@key": "4711"}),
        ("4711", "letter", {"@deadLetterId": 4711}),
        ("order'; DROP TABLE x; --", "", {"@key": "order'; DROP TABLE x; --"}),
    ],
)
def test_what_is_asked_for_is_told_by_its_form_or_by_an_option(what, kind, asked):
    assert question(what, kind) == asked


@pytest.mark.parametrize(
    ("what", "kind", "sequence", "words"),
    [
        ("x", "letter", None, "vw_DeadLetters"),
        ("1", "letter", 3, "--sequence"),
        ("0x7D1", "", 3, "--sequence"),
        ("", "", None, "1 to 200 characters"),
        ("x" * 201, "", None, "1 to 200 characters"),
        ("\ud800" * 201, "", None, "1 to 200 characters"),
    ],
)
def test_what_cannot_be_is_refused_with_what_helps(what, kind, sequence, words):
    with pytest.raises(UserError, match=words):
        question(what, kind, sequence)


def test_a_number_goes_with_a_dialog_from_0_and_with_a_key_from_1():
    assert question(GUID, sequence=0) == {"@id": GUID.upper(), "@sequence": 0}
    assert question("k", sequence=1) == {"@key": "k", "@keySequence": 1}


def test_the_command_is_listed():
    assert "trace" in listing.GROUPS["Operate"]


# ------------------------------------------------------------------ one database
def test_a_landed_message_is_told_and_ends_with_0(site, capsys):
    sent(site, "orders", "0x01", "o-1")
    landed(site, 1)
    status, said, _ = ended(capsys, "o-1", server=site, sequence=1)
    assert status == 0
    assert said.splitlines()[-1] == "landed: It has landed."
    assert all(word in said for word in ("dialog begun", "sent", "o-1 1", "RowVersion 0x"))


def test_one_that_waits_ends_with_2_and_one_never_sent_with_4(site, capsys):
    run(site, OFF.format("orders"))
    sent(site, "orders", "0x01", "o-1")
    status, said, _ = ended(capsys, "o-1", server=site, sequence=1)
    assert status == 2 and said.splitlines()[-1].startswith("in the target's queue: ")
    assert "Its activation is off" in said
    status, said, _ = ended(capsys, "o-1", server=site, sequence=2)
    assert status == 4 and said.startswith("not known here: ") and "Kept here" in said


def test_a_dead_letter_ends_with_3(site, capsys):
    run(site, "ALTER TABLE orders.Landing ADD CONSTRAINT poison CHECK (Body <> 0xBAD0);")
    sent(site, "orders", "0xBAD0", "o-1")
    sent(site, "orders", "0x01", "o-1")
    landed(site, 1)
    for what, kind in (("o-1", ""), ("1", "letter")):
        number = None if kind else 1
        status, said, _ = ended(capsys, what, server=site, kind=kind, sequence=number)
        assert status == 3 and said.splitlines()[-1].startswith("dead letter: "), said


def test_as_json_every_step_has_its_columns(site, capsys):
    sent(site, "orders", "0x0102", "o-1")
    landed(site, 1)
    status, said, _ = ended(capsys, "o-1", server=site, form="json")
    found = json.loads(said)
    assert (status, found["verdict"], found["status"]) == (0, "landed", 0)
    [row] = [step for step in found["steps"] if step["step"] == "landed"]
    assert (row["key"], row["key_sequence"], row["bytes"], row["database"]) == ("o-1", 1, 2, "site")
    [(handle,)] = run(site, "SELECT Handle FROM orders.SessionConversations;")
    for what in (handle, row["conversation"], row["detail"].split()[1]):
        status, said, _ = ended(capsys, what, server=site, form="json")
        assert (status, json.loads(said)["verdict"]) == (0, "landed"), what


def test_a_hostile_key_moves_no_terminal_and_runs_nothing(site, capsys):
    key = "\x1b[2Jo'; DROP TABLE orders.Landing; -- [bold]"
    with closing(connect_odbc(site)()) as connection:
        connection.cursor().execute(
            "EXECUTE orders.usp_Send N'//redial/orders/initiator', N'//redial/orders/target', "
            "N'//redial/orders/contract', N'//redial/orders/event', 0x01, @key = ?;",
            key,
        )
    landed(site, 1)
    status, said, _ = ended(capsys, key, server=site, sequence=1)
    assert status == 0 and "\x1b" not in said
    assert run(site, "SELECT COUNT(*) FROM orders.Landing WHERE KeySequence = 1;") == [(1,)]


def test_a_login_without_the_right_is_told_what_is_missing_and_ends_with_1(site, capsys):
    run(
        site,
        "CREATE LOGIN nobody WITH PASSWORD = N'Redial-2026x'; CREATE USER nobody FOR LOGIN nobody; "
        "CREATE LOGIN duty WITH PASSWORD = N'Redial-2026x'; CREATE USER duty FOR LOGIN duty; "
        "ALTER ROLE orders_operator ADD MEMBER duty;",
    )
    status, _, error = ended(capsys, "o-1", server=logged_in_as(site, "nobody", "Redial-2026x"))
    assert status == 1 and "(229)" in error and "[orders_operator]" in error and "Next:" in error
    status, *_ = ended(capsys, "o-1", server=logged_in_as(site, "duty", "Redial-2026x"))
    assert status == 4


def test_where_it_is_not_deployed_and_wrong_words_end_with_1(site, capsys):
    for options, words in (
        ({"config": "audit", "server": site}, "redial deploy --config audit"),
        ({"server": site, "form": "xml"}, "text, json"),
        ({"server": site, "rows": 0}, "@rows must be 1 to"),
    ):
        status, _, error = ended(capsys, "x", **options)
        assert status == 1 and words in error and "Next:" in error


# ------------------------------------------------------------------ two databases
@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A project whose configuration has a database for each side."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "sql" / "configs").mkdir(parents=True)
    text = (CONFIGS / "audit.toml").read_text("utf-8")
    text = text.replace("[target]\n", f'[target]\ndatabase = "{DEPOT}"\n')
    (folder / "sql" / "configs" / "audit.toml").write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def both(root: Path) -> Iterator[tuple[EmbeddedBroker, str, Config]]:
    config = load(root / "sql" / "configs" / "audit.toml")
    with two_databases("shop", DEPOT) as (broker, connect):
        apply(config, connect)
        yield broker, with_database(broker.odbc, "shop"), config


@pytest.fixture
def shop(both, root, monkeypatch) -> Iterator[str]:
    broker, server, _ = both
    monkeypatch.setattr("redial.cli.configs.project", lambda: Project(root))
    moment = broker.call(lambda instance: instance.snapshot())
    yield server
    broker.call(lambda instance: moment.restore())


def place(shop: str) -> str:
    [(conversation,)] = run(shop, "SELECT ConversationId FROM audit.ConversationLog;")
    return str(conversation)


def test_both_databases_are_asked_and_told_as_one(shop, capsys):
    depot = with_database(shop, DEPOT)
    sent(shop, "audit", "0x01")
    landed(depot, 1, "audit")
    status, said, _ = ended(capsys, place(shop), "audit", server=shop, sequence=0, form="json")
    found = json.loads(said)
    assert (status, found["verdict"]) == (0, "landed")
    assert {(one["step"], one["database"]) for one in found["steps"]} >= {
        ("dialog begun", "shop"),
        ("landed", DEPOT),
    }
    times = [one["when"] for one in found["steps"] if one["when"]]
    assert times == sorted(times)
    [row] = [one for one in found["steps"] if one["step"] == "landed"]
    status, said, _ = ended(capsys, row["detail"].split()[1], "audit", server=shop, form="json")
    steps = json.loads(said)["steps"]
    assert status == 0 and ("dialog begun", "shop") in {
        (one["step"], one["database"]) for one in steps
    }
    status, said, _ = ended(capsys, place(shop), "audit", server=shop)
    assert status == 0 and f"in {DEPOT}" in said


def test_the_senders_side_is_not_said_to_be_in_the_targets_database(shop, capsys):
    sent(shop, "audit", "0x01")
    landed(with_database(shop, DEPOT), 1, "audit")
    status, said, _ = ended(capsys, place(shop), "audit", server=shop, sequence=0)
    assert status == 0 and "sender's side" in said and f"sender's side in {DEPOT}" not in said


def test_one_that_waits_at_the_target_is_told_by_the_target(shop, capsys):
    run(with_database(shop, DEPOT), OFF.format("audit"))
    sent(shop, "audit", "0x01")
    for _ in range(100):
        status, said, _ = ended(capsys, place(shop), "audit", server=shop, sequence=0)
        if "in the target's queue: " in said:
            break
    assert status == 2 and "in the target's queue: " in said


def test_one_that_the_target_is_through_with_and_has_no_row_of_is_gone(shop, capsys):
    depot = with_database(shop, DEPOT)
    sent(shop, "audit", "0x01")
    landed(depot, 1, "audit")
    for _ in range(100):
        if run(shop, "WAITFOR DELAY '00:00:00.050'; SELECT COUNT(*) FROM audit.SentMessage;")[
            -1
        ] == (0,):
            break
    run(depot, "DELETE FROM audit.Landing;")
    status, said, _ = ended(capsys, place(shop), "audit", server=shop, sequence=0)
    assert status == 4 and "gone: " in said


def test_where_the_other_database_does_not_answer_that_is_said(shop, capsys):
    sent(shop, "audit", "0x01")
    run(
        shop,
        "CREATE LOGIN duty WITH PASSWORD = N'Redial-2026x'; CREATE USER duty FOR LOGIN duty; "
        "ALTER ROLE audit_operator ADD MEMBER duty;",
    )
    duty = logged_in_as(shop, "duty", "Redial-2026x")
    status, said, error = ended(capsys, place(shop), "audit", server=duty, sequence=0)
    assert status == 2 and said.splitlines()[-1].startswith(("pending: ", "at the target: "))
    assert "could not be asked: " in error and f"database {DEPOT}: " in error
    assert "was not asked: what has landed there is not known." in said
