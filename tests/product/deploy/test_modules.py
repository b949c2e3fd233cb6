"""``redial deploy`` when a module is chosen, and when it is not any more."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from redial.cli.deploy import deploy, plan, verify
from redial.cli.history import history
from redial.cli.uninstalling import uninstall
from redial.config import parse
from redial.config.sections import Modules
from redial.paths import CONFIGS
from redial.render import write

from .conftest import run, status_of

pytestmark = pytest.mark.driver
NOTHING, CHANGES = 0, 2
SEND = (
    "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
    "N'//redial/audit/contract', N'//redial/audit/event', 0x{};"
)
LANDED = "SELECT Body FROM audit.Landing ORDER BY RowVersion;"


@pytest.fixture
def choose(tmp_path, monkeypatch) -> Callable[..., None]:
    """Writes, and renders, a project's configuration audit with the core and the modules named."""
    (tmp_path / "sql" / "configs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    def choice(*chosen: str) -> None:
        text = (CONFIGS / "audit.toml").read_text("utf-8")
        lines = "".join(f"{one} = {str(one in chosen).lower()}\n" for one in Modules.model_fields)
        text = re.sub(r"\[modules\].*?\n\[", f"[modules]\n{lines}\n[", text, flags=re.S)
        if "retention" not in chosen:
            text = text.replace("log_days = 90", "log_days = 0")
        (tmp_path / "sql" / "configs" / "audit.toml").write_text(text, "utf-8")
        write(parse(text), tmp_path / "sql" / "generated" / "audit")

    return choice


def test_the_core_alone_is_installed_and_grows_and_shrinks(site, choose, capsys):
    """By deploy, with plan and verify around each step; history begins with the module upgrade."""
    server = site.empty
    choose()
    assert status_of(deploy, server=server) == NOTHING
    assert status_of(verify, server=server) == 0, capsys.readouterr().out
    run(server, SEND.format("01"))
    # 1. every module
    choose(*Modules.model_fields)
    assert status_of(plan, server=server) == CHANGES
    assert "usp_BeginPartition" in capsys.readouterr().out
    assert status_of(deploy, server=server) == NOTHING
    assert status_of(verify, server=server) == 0, capsys.readouterr().out
    assert status_of(history, server=server) == 0
    run(server, SEND.format("02"))
    # 2. and back: what goes is named before
    choose()
    capsys.readouterr()
    assert status_of(plan, server=server) == CHANGES
    said = capsys.readouterr().out
    for name in ("usp_SendBatch", "usp_BeginPartition", "usp_Health", "usp_Drain", "usp_PurgeLogs"):
        assert re.search(rf"(?i)drop\b.*\b{name}\b", said), (name, said)
    assert status_of(deploy, server=server) == NOTHING
    assert status_of(verify, server=server) == 0, capsys.readouterr().out
    assert status_of(plan, server=server) == NOTHING, capsys.readouterr().out
    run(server, SEND.format("03"))
    site.broker.call(lambda instance: instance.pump())
    assert [row[0] for row in run(server, LANDED)] == [b"\1", b"\2", b"\3"]


def test_a_module_that_comes_leaves_what_is_there_alone(site, choose, capsys):
    choose("monitor", "operate")
    assert status_of(deploy, server=site.empty) == NOTHING
    choose("monitor", "operate", "bulk")
    capsys.readouterr()
    assert status_of(deploy, server=site.empty) == NOTHING
    said = capsys.readouterr().out
    assert "usp_SendBatch.procedure.sql" in said
    assert not re.search(r"usp_Send\.|usp_Health|vw_DeadLetters", said), said


def test_how_landing_is_stored_is_planned_deployed_and_verified(site, choose, capsys):
    """1 an index and page compression  2 as_is again: what is compressed stays, the index goes."""
    server = site.empty
    choose()
    assert status_of(deploy, server=server) == NOTHING
    text = Path("sql/configs/audit.toml").read_text("utf-8")

    def stored(order: str, compression: str) -> None:
        own = re.sub(r"order_index = \w+", f"order_index = {order}", text)
        own = re.sub(r'compression = "\w+"', f'compression = "{compression}"', own)
        Path("sql/configs/audit.toml").write_text(own, "utf-8")
        write(parse(own), Path("sql/generated/audit"))

    for order, compression, does in (("true", "page", "create"), ("false", "as_is", "drop")):
        stored(order, compression)
        capsys.readouterr()
        assert status_of(plan, server=server) == CHANGES
        said = capsys.readouterr().out
        assert re.search(rf"{does}\b.*IX_Landing_Conversation", said), said
        assert "by hand" not in said and "a person must" not in said
        assert status_of(deploy, server=server) == NOTHING
        assert status_of(verify, server=server) == 0, capsys.readouterr().out
    [(kept,)] = run(server, "SELECT data_compression_desc FROM sys.partitions WHERE object_id = "
                    "OBJECT_ID(N'audit.Landing') AND index_id = 1;")  # fmt: skip
    assert kept == "PAGE"


def test_the_core_alone_is_removed(site, choose, capsys):
    choose()
    assert status_of(deploy, server=site.empty) == NOTHING
    assert status_of(uninstall, server=site.empty, yes="audit", purge_data=True) == 0
    assert run(site.empty, "SELECT name FROM sys.schemas WHERE name = N'audit';") == []
