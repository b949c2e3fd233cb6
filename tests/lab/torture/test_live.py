"""Trials on a server: callers in processes of their own, over ODBC, behind a proxy that cuts."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from dataclasses import asdict

import pytest

from redial.render.quoting import quote_name
from redial_lab.commands.torture import torture
from redial_lab.torture.caller_journal import OK, UNKNOWN, Entry
from redial_lab.torture.live import Live
from redial_lab.torture.process import read
from redial_lab.torture.tally import Tally
from redial_lab.torture.wire import Proxy


@pytest.mark.sampled(every=2, last=False)
@pytest.mark.parametrize("name", ["hurried-audit-two_databases", "hurried-audit"])
def test_every_message_is_accounted_for_on_a_server(name, capsys, monkeypatch):
    """The embedded broker in a process of its own stands for one. One trial of some seconds."""
    monkeypatch.setattr("redial_lab.commands.torture.SECONDS", 3.0)
    torture(config=name, server="embedded", trials=1, seed=5, messages=120)
    said = " ".join(capsys.readouterr().out.split())
    assert "clean: every message accounted for" in said
    assert "embedded broker, not SQL Server" in said
    assert "acknowledged by switch" not in said, "a server answers as it does"


def test_what_is_missing_on_a_server_is_said_to_be_lost(capsys, monkeypatch):
    """What has landed is taken away behind everybody's back. A known-bad text is caught by
    tests/lab/torture/test_trials.py, which replays; here processes meet by chance."""
    monkeypatch.setattr("redial_lab.commands.torture.SECONDS", 3.0)
    rests = Live._rest

    def robbed(trial: Live) -> None:
        rests(trial)
        schema = quote_name(trial.config.schema_name)
        trial._ask(f"DELETE FROM {schema}.[Landing];", "")

    monkeypatch.setattr(Live, "_rest", robbed)
    with pytest.raises(SystemExit):
        torture(config="hurried-audit", server="embedded", trials=1, seed=11, messages=120)
    assert "lost" in capsys.readouterr().out


def test_on_a_server_no_switch_counts_as_met():
    assert not [what for what in Tally(("a",), switches=()).missed() if what.startswith("switch")]
    assert [what for what in Tally(("a",)).missed() if what.startswith("switch")]


def test_what_a_killed_process_had_written_is_its_journal():
    """What it said last of a message counts; the line it was killed in does not."""

    def said(number: int, outcome: str) -> str:
        return json.dumps(
            {"entries": [asdict(Entry((1, number, 0), None, 0.0, "usp_Send", "plain", outcome))]}
        )

    lines = [said(1, UNKNOWN), said(1, OK), said(2, UNKNOWN), said(2, OK)[:-9]]
    journal = read(1, "\n".join(lines))
    assert [(entry.name, entry.outcome) for entry in journal.entries] == [
        ((1, 1, 0), OK),
        ((1, 2, 0), UNKNOWN),
    ]
    assert not journal.finished


def test_a_cut_connection_is_cut_on_both_sides():
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(Proxy("127.0.0.1", server.getsockname()[1])) as proxy,
    ):
        assert not proxy.cut(0), "there is none yet"
        with (
            closing(socket.create_connection(("127.0.0.1", proxy.port))) as client,
            closing(server.accept()[0]) as far,
        ):
            client.sendall(b"to the server")
            assert far.recv(100) == b"to the server"
            far.sendall(b"and back")
            assert client.recv(100) == b"and back"
            assert proxy.cut(0)
            assert client.recv(100) == b"" and far.recv(100) == b""
