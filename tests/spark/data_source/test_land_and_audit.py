"""From a caller's usp_Send to Parquet and an audit, over the wire."""

from __future__ import annotations

import json
import re
import shutil
import uuid

import pytest

from redial.cli.configs import load_named
from redial.deploy import apply, connect_odbc
from redial.paths import ROOT
from redial.server import EMBEDDED_LABEL
from redial.spark import audit, land, retrying
from redial.spark.connect import open_connection
from redial.spark.credentials import from_odbc
from redial.spark.errors import PipelineError, status_of
from redial.spark.installed import Installed, on_server
from redial.spark.options import StreamReadOptions, WriteOptions
from redial.spark.parsing import parse
from redial.spark.sending import Message, Piece, send_partition
from redial.spark.sources import Sources, files, look_at_server
from tests.broker.drivers.proxy import Proxy
from tests.envelopes import envelope

from .shop import EACH, KEYS, Shop

pytestmark = [pytest.mark.driver, pytest.mark.jvm]


@pytest.fixture(scope="module")
def shop(lab):
    return Shop(lab.broker)


@pytest.fixture(scope="module")
def landed(spark, shop, tmp_path_factory):
    """What the landing job made of it, in batches of at most ten rows."""
    target = str(tmp_path_factory.mktemp("landed") / "orders")
    assert (
        land.main(["--server", shop.odbc, "--config", "orders", "--to", target, "--max-rows", "10"])
        == 0
    )
    return target


def audited(tmp_path, *arguments: str) -> tuple[int, dict]:
    page, figures = tmp_path / "audit.html", tmp_path / "audit.json"
    status = audit.main(
        [*arguments, "--schema", "orders", "--html", str(page), "--json", str(figures)]
    )
    assert "<svg" in page.read_text(encoding="utf-8")
    return status, json.loads(figures.read_text(encoding="utf-8"))


def test_every_message_is_landed_and_acknowledged(spark, shop, landed):
    rows = files(spark, landed)
    assert rows.count() == shop.value("COUNT(*) FROM orders.Landing") == 2 * len(KEYS) * (EACH + 1)
    events = rows.where("type = '//redial/orders/event'").selectExpr("cast(body as string) b")
    assert sorted(row.b for row in events.collect()) == sorted(
        json.dumps({"n": n}) for n in range(2 * EACH) for _ in KEYS
    )
    assert shop.value("MAX(l.RowVersion) FROM orders.Landing AS l") < shop.value(
        f"la.UpTo FROM orders.LandingAcknowledged AS la WHERE la.Reader = N'redial-landing {landed}'"
    )


def test_started_again_it_lands_only_what_is_new(spark, shop, landed, tmp_path):
    target = str(tmp_path / "copy")
    shutil.copytree(landed, target)
    before = files(spark, target).count()
    shop.sa.execute(
        "INSERT INTO orders.Landing (ConversationHandle, MessageSequence, MessageType) "
        "VALUES (NEWID(), 0, N'http://schemas.microsoft.com/SQL/ServiceBroker/Error');"
    )
    assert land.main(["--server", shop.odbc, "--config", "orders", "--to", target]) == 0
    assert files(spark, target).count() == before + 1


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_batch_whose_commit_is_missing_is_refused_once_acknowledged_and_else_adds_nothing(
    spark, shop, tmp_path, kind
):
    """docs/pipeline.md: a lost commit looks to the server like a lost checkpoint."""
    job = ["--server", shop.odbc, "--config", "orders", "--to", str(tmp_path / kind)]
    assert land.main([*job, "--kind", kind]) == 0
    before = sorted(files(spark, str(tmp_path / kind)).select("mark").collect())
    for name in ("0", ".0.crc"):
        (tmp_path / kind / "_checkpoint" / "commits" / name).unlink()
    with pytest.raises(PipelineError, match=r"has acknowledged.*checkpoint is lost.*Next: "):
        land.main([*job, "--kind", kind])
    assert land.main([*job, "--kind", kind, "--reader", ""]) == 0
    assert (tmp_path / kind / "_checkpoint" / "commits" / "0").exists()
    assert sorted(files(spark, str(tmp_path / kind)).select("mark").collect()) == before


def test_the_audit_of_the_files_says_that_nothing_is_lost(spark, shop, landed, tmp_path):
    status, found = audited(
        tmp_path, "--server", shop.odbc, "--strict", "--landed", landed, "--settled"
    )
    assert status == 0, found
    assert (found["complete"], found["open"], found["keys"]) == (2 * len(KEYS), 0, len(KEYS))
    assert found["lost"] == found["lost_by_key"] == found["late"] == found["repeated"] == 0
    assert found["profile"]["quantiles"], "orders' envelope says when a message was sent"
    assert found["about"]["what it is"] == EMBEDDED_LABEL and found["about"]["database"]


def test_a_row_that_is_gone_is_a_loss_to_both_counts_unless_it_is_a_dead_letter(
    spark, shop, tmp_path
):
    gone = "FROM orders.Landing WHERE ConversationKey = N'red' AND KeySequence IN (3, 4)"
    shop.sa.execute(
        "INSERT INTO orders.DeadLetter (Side, ConversationId, ConversationHandle, MessageSequence, "
        "MessageType, Body) SELECT N'target', ConversationId, NEWID(), MessageSequence, "
        f"MessageType, {envelope(bytes(1), key='red', sequence=3)} {gone} AND KeySequence = 3;"
    )
    (lost,) = shop.sa.execute(f"SELECT MessageSequence {gone} AND KeySequence = 4;").fetchone()
    shop.sa.execute(f"DELETE {gone};")
    status, found = audited(tmp_path, "--server", shop.odbc)
    assert (status, found["lost"], found["lost_by_key"], found["gone"]) == (1, 1, 1, 1)
    assert found["worst"][0]["ranges"] == [[lost, lost]]
    assert found["dead_lettered"] == 1


@pytest.fixture(scope="module")
def twice(shop):
    """``etl`` in the shop's database, exactly once: the message in the middle was sent twice, and
    the target dropped the second. Connection string of a login in the roles reader and operator."""
    config = load_named("etl")
    apply(config, connect_odbc(shop.odbc))
    options = parse(
        WriteOptions,
        from_odbc(shop.odbc)
        | {
            "schema": "etl",
            "contract": config.contract.name,
            "fromService": config.services.initiator,
            "toService": config.services.target,
        },
    )
    first, middle, last = (
        Message(config.message_types[0].name, b"%d" % n, message_id=str(uuid.UUID(int=n + 1)))
        for n in range(3)
    )
    for job, rows in (("one", [first, middle]), ("two", [middle, last])):
        send_partition(options, Piece(job, 0, 0), rows)
    for _ in range(600):
        if shop.value("COUNT(*) FROM etl.Landing") == 3:
            break
        shop.sa.execute("WAITFOR DELAY '00:00:00.050';")
    shop.sa.execute("CREATE LOGIN auditor WITH PASSWORD = 'Aud1tor!pass'; CREATE USER auditor;")
    for role in ("reader", "operator"):
        shop.sa.execute(f"ALTER ROLE etl_{role} ADD MEMBER auditor;")
    with_login = re.sub(r"UID=[^;]+", "UID=auditor", shop.odbc)
    return re.sub(r"PWD=\{[^}]+\}", "PWD={Aud1tor!pass}", with_login)


def test_a_repeat_the_target_dropped_is_no_loss_to_who_may_read_inbox(spark, shop, twice, tmp_path):
    """The grant is the one docs/pipeline.md names."""
    page = (ROOT / "docs" / "pipeline.md").read_text(encoding="utf-8")
    (grant,) = re.findall(r"`(GRANT SELECT ON OBJECT::etl\.Inbox TO [^`]+)`", page)
    found = Sources()
    look_at_server(spark, found, twice, "etl")
    assert found.dropped == 0
    assert re.search(r"Inbox cannot be read.*GRANT SELECT", " ".join(found.notes), re.S)
    shop.sa.execute(grant)
    file = tmp_path / "audit.json"
    status = audit.main(["--server", twice, "--schema", "etl", "--json", str(file)])
    figures = json.loads(file.read_text(encoding="utf-8"))
    assert (status, figures["lost"], figures["dropped"]) == (0, 1, 1)


def test_an_audit_asks_again_after_each_cut_of_its_connection(spark, shop, twice, monkeypatch):
    """Every other connection is cut before its query: set-up, server, log, mark, letters, Inbox."""
    opened, slept = [], []
    port = int(re.search(r"Server=[^;]*?,(\d+)", shop.odbc)[1])
    with Proxy(port) as wire:

        def cut(options):
            opened.append(open_connection(options))
            if len(opened) % 2:
                wire.cut()
            return opened[-1]

        monkeypatch.setattr(retrying, "open_connection", cut)
        monkeypatch.setattr(retrying, "sleep", slept.append)
        found = Sources()
        look_at_server(spark, found, shop.odbc.replace(f",{port}", f",{wire.port}"), "etl")
    assert (len(opened), slept) == (12, [0.0] * 6)
    assert found.log.count() == shop.value("COUNT(*) FROM etl.ConversationLog")
    assert (found.dropped, found.notes) == (1, [])


def test_the_server_says_of_each_configuration_what_its_file_says(shop, twice):
    for name in ("orders", "etl"):
        found = on_server(name, lambda sql: shop.sa.execute(sql).fetchall())
        assert found == Installed.of(load_named(name))
    with pytest.raises(PipelineError, match=r"\[Setting\].* does not say contract.end_of_stream"):
        on_server("orders", lambda sql: [])


def test_where_a_hook_has_the_messages_the_files_it_wrote_are_asked_for(spark, shop):
    """The server says so itself: no file of the configuration is read."""
    change = "UPDATE orders.Setting SET Value = N'{}' WHERE Name = N'target.processing';"
    shop.sa.execute(change.format("hook"))
    try:
        with pytest.raises(PipelineError, match="schema orders: hands its messages to a hook"):
            audit.main(["--server", shop.odbc, "--schema", "orders"])
        look_at_server(spark, Sources(), shop.odbc, "orders", landing=False)
    finally:
        shop.sa.execute(change.format("land"))


def test_an_audit_needs_no_project_folder_and_its_status_is_2_without_a_right(
    spark, shop, twice, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert audit.answer(["--server", twice, "--schema", "etl"]) in (0, 1)
    shop.sa.execute("ALTER ROLE etl_operator DROP MEMBER auditor;")
    try:
        assert audit.answer(["--server", twice, "--schema", "etl"]) == 2
        said = capsys.readouterr().err
        assert "[etl].[Setting]" in said and "operator role" in said and "Aud1tor" not in said
    finally:
        shop.sa.execute("ALTER ROLE etl_operator ADD MEMBER auditor;")
    assert audit.answer(["--server", twice, "--schema", "nowhere"]) == 2
    assert "Next: --schema with one of: etl" in capsys.readouterr().err


def test_what_is_missing_for_it_is_said(spark, monkeypatch, capsys):
    monkeypatch.delenv("REDIAL_SERVER", raising=False)
    with pytest.raises(PipelineError, match="there is nothing to look at"):
        audit.main([])
    with pytest.raises(PipelineError, match="no database is named"):
        land.main(["--to", "x"])
    assert status_of(lambda: audit.main(["--landed", "/nowhere/at/all"])) == 2
    assert "Next: python -m redial.spark.land" in capsys.readouterr().err


def test_the_servers_errors_are_shown_without_the_password(spark, shop, capsys):
    wrong = shop.odbc.replace("PWD={", "PWD={not-")
    assert status_of(lambda: audit.main(["--server", wrong, "--schema", "orders"])) == 2
    said = capsys.readouterr().err
    assert "Login failed" in said and "Next: " in said and "not-" not in said
    assert (
        status_of(
            lambda: land.main(["--server", shop.odbc, "--to", "x", "--starting-mark", "yesterday"])
        )
        == 2
    )
    assert "startingMark" in capsys.readouterr().err


def test_what_the_command_is_told_is_what_the_source_is_asked_for():
    said = ["--server", "Server=s;Database=d", "--to", "/lake/t", "--max-bytes", "10"]
    given = land.options_of(
        land._parser().parse_args([*said, "--starting-timestamp", "2031-05-01"])
    )
    assert parse(StreamReadOptions, given).max_bytes_per_trigger == 10
    assert given["startingTimestamp"] == "2031-05-01" and "startingMark" not in given
    assert given["reader"] == "redial-landing /lake/t"
    assert "reader" not in land.options_of(land._parser().parse_args([*said, "--reader", ""]))
