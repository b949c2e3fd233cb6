"""``redial top``: once for programs, and live in a real pseudo-terminal."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import pytest

from redial.cli.doctor_site import Site
from redial.cli.top import Screen, _live, drawn, top
from redial.cli.watching import Seen, Watch
from redial.config import load
from redial.operate.doctor import Place, Trouble, refused
from redial.operate.figures import Sample, Session, rates
from redial.paths import CONFIGS
from tests.product.deploy.conftest import run, status_of

from .test_doctor import operator

__all__ = ["operator"]
driver = pytest.mark.driver
PLACE = Place("sql1", "shop")


def counted(at: float, landing: int, dead: int, waiting: int) -> Sample:
    rows = {"Landing": landing, "DeadLetter": dead, "SentMessage": waiting}
    return Sample(PLACE, at, {("rows", name): n for name, n in rows.items()}, (), ())


def text_of(picture) -> str:
    """As it is drawn on a wide screen."""
    from rich.console import Console

    console = Console(width=200)
    with console.capture() as kept:
        console.print(picture)
    return kept.get()


def test_what_was_sent_is_what_landed_died_or_waits_more():
    got = rates([counted(0, 100, 1, 10)], [counted(2, 160, 3, 14)])
    assert (got.sent, got.landed, got.dead) == (33, 30, 1)


def test_where_rows_were_removed_nothing_is_said():
    got = rates([counted(0, 100, 1, 10)], [counted(2, 90, 1, 10)])
    assert (got.sent, got.landed, got.dead) == (None, None, 0)


@driver
def test_once_as_json_has_every_figure_and_says_what_cannot_be_seen(site, operator, capsys):
    capsys.readouterr()
    assert status_of(top, server=operator, once=True, form="json") == 0
    said = json.loads(capsys.readouterr().out)
    (database,) = said["databases"]
    assert database["database"] == "site" and database["error"] is None
    assert {"name": "gate_open", "label": "", "value": 1} in database["figures"]
    assert database["sessions"] is None and said["per_second"]["sent"] is None


@driver
def test_once_for_a_person(site, capsys):
    capsys.readouterr()
    assert status_of(top, server=site.server, once=True) == 0
    said = capsys.readouterr().out
    assert "TargetQueue" in said and "gate open" in said and "\x1b" not in said


@driver
def test_a_database_that_does_not_answer_is_said_and_the_status_is_4(site, capsys):
    assert status_of(top, server=site.empty, once=True) == 4
    assert "Next: redial deploy" in capsys.readouterr().out


def test_what_does_not_fit_is_said_before_a_server_is_asked(capsys):
    for options, words in (
        ({"form": "json"}, "goes with --once only"),
        ({"form": "yaml", "once": True}, "text, json"),
        ({"every": 0.01}, "--every 0.01: is no interval"),
        ({}, "draws on a terminal, and this is none"),
    ):
        capsys.readouterr()
        assert status_of(top, server="Server=127.0.0.1,1;Database=x", **options) == 1
        assert words in capsys.readouterr().err


@driver
def test_a_lost_connection_leaves_the_last_figures_on_the_screen_and_is_opened_again(site):
    model = load(CONFIGS / "audit.toml")
    with Watch(Site(model, site.server, None)) as watch:
        screen = Screen("audit", watch.look(0))
        others = (
            "SELECT session_id FROM sys.dm_exec_sessions "
            "WHERE session_id <> @@SPID AND is_user_process = 1;"
        )
        for (session,) in run(site.server, others):
            run(site.server, f"KILL {session};")
        screen.looked(watch.look(2))
        assert screen.seen[0].trouble is not None and len(screen.known) == 1
        screen.looked(watch.look(4))
        assert screen.seen[0].trouble is None and screen.per_second.landed == 0


def test_a_server_that_comes_up_later_is_drawn():
    screen = Screen("x", [Seen(PLACE, None, Trouble("sql1", "is down", "wait"))])
    screen.looked([Seen(PLACE, counted(2, 90, 1, 10), None)])
    assert "gate ?" in text_of(drawn(screen)) and screen.per_second.landed is None


def test_sessions_stand_in_the_order_that_a_key_has_chosen():
    sessions = (Session(1, "session 1", None, 5, 10), Session(2, "session 2", None, 1, 60))
    screen = Screen("x", [Seen(PLACE, Sample(PLACE, 0, {}, sessions, ()), None)])
    said = text_of(drawn(screen))
    assert said.index("session 2") < said.index("session 1")
    screen.sort = "the most waiting"
    said = text_of(drawn(screen))
    assert said.index("session 1") < said.index("session 2")


class Terminal:
    """A program in a pseudo-terminal of 100 by 40."""

    def __init__(self, *arguments: str, server: str, cwd) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.program = subprocess.Popen(
            [Path(sys.executable).with_name("redial"), *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"REDIAL_SERVER": server, "TERM": "xterm-256color"},
            cwd=cwd,
            close_fds=True,
        )
        os.close(theirs)
        self.said = ""

    def until(self, words: str) -> str:
        """Read until these words have come; what has come since the last time."""
        seen, deadline = "", time.monotonic() + 120
        while not re.search(words, seen):
            assert time.monotonic() < deadline, seen
            ready, _, _ = select.select([self.ours], [], [], 5)
            if ready:
                try:
                    seen += os.read(self.ours, 65536).decode("utf-8", "replace")
                except OSError:
                    raise AssertionError(seen) from None
        self.said += seen
        return seen

    def press(self, key: str) -> None:
        os.write(self.ours, key.encode())


@driver
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")
def test_it_is_drawn_anew_and_keys_do_what_the_last_line_says(site, tmp_path):
    (tmp_path / "sql" / "configs").mkdir(parents=True)
    shutil.copy(CONFIGS / "audit.toml", tmp_path / "sql" / "configs")
    terminal = Terminal(
        "top", "--config", "audit", "--every", "0.5", server=site.server, cwd=tmp_path
    )
    try:
        terminal.until("TargetQueue")
        terminal.until("landed 0.0/s")  # the second look
        terminal.press("p")
        terminal.until("paused")
        terminal.press("w")
        terminal.until(r"written: audit-top-\w+\.json")
        terminal.press("q")
        terminal.until(r"\x1b\[\?1049l")  # the screen that was there before is back
        assert terminal.program.wait(60) == 0
    finally:
        terminal.program.kill()
    (snapshot,) = tmp_path.glob("audit-top-*.json")
    assert json.loads(snapshot.read_text())["databases"][0]["database"] == "site"
    assert "Traceback" not in terminal.said


def test_a_server_that_never_answers_keeps_nobody_from_leaving(monkeypatch):
    """1 the server is asked  2 it says nothing, which is said  3 q ends it, and no connection is touched."""
    drawings, waiting, closed = [], Event(), []

    @contextmanager
    def pressing():
        yield lambda _: "q" if any("no answer for 2 s" in one for one in drawings) else ""

    def kept(screen):
        drawings.append(text_of(drawn(screen)))
        return drawn(screen)

    monkeypatch.setattr("redial.cli.top.keys", pressing)
    monkeypatch.setattr("redial.cli.top.drawn", kept)
    monkeypatch.setattr(Watch, "look", lambda *_: waiting.wait())
    with Watch(Site(load(CONFIGS / "audit.toml"), "Server=127.0.0.1,1;Database=x", None)) as watch:
        in_use = ExitStack()
        in_use.callback(closed.append, 1)
        watch._open[PLACE] = (in_use, None)
        _live(watch, "audit", 2.0)
    assert closed == []
    waiting.set()
    assert "asking" in drawings[0]


class Virtual:
    """A clock, a keyboard and a server that answers at once, in place of ours."""

    def __init__(self, presses: dict[float, str]) -> None:
        self.now, self.presses, self.looks, self.drawings = 0.0, presses, [], []
        self.busy, self.answers = False, True

    def monotonic(self) -> float:
        return self.now

    @contextmanager
    def keys(self):
        def pressed(seconds: float) -> str:
            self.now += max(seconds, 0.1)
            due = next((at for at in self.presses if at <= self.now), None)
            return self.presses.pop(due, "")

        yield pressed

    @contextmanager
    def looking(self, _):
        yield self

    def begin(self) -> None:
        self.looks.append(self.now)
        self.busy = True

    def seen(self) -> list[Seen] | None:
        if not (self.busy and self.answers):
            return None
        self.busy = False
        return [Seen(PLACE, counted(self.now, 1, 0, 0), None)]

    def run(self, monkeypatch) -> None:
        """Until q is pressed."""

        def kept(screen):
            self.drawings.append(text_of(drawn(screen)))
            return drawn(screen)

        monkeypatch.setattr("redial.cli.top.time", self)
        monkeypatch.setattr("redial.cli.top.keys", self.keys)
        monkeypatch.setattr("redial.cli.top.Looking", self.looking)
        monkeypatch.setattr("redial.cli.top.drawn", kept)
        _live(None, "audit", 2.0)


def test_while_it_is_paused_no_server_is_asked(monkeypatch):
    """1 every two seconds  2 p at five seconds, none is asked  3 p at fifteen, and on it goes."""
    live = Virtual({5.0: "p", 15.0: "p", 21.0: "q"})
    live.run(monkeypatch)
    assert [at for at in live.looks if 5.5 < at < 15] == []
    assert len([at for at in live.looks if at < 5]) == 3
    assert len([at for at in live.looks if at > 15]) == 3


def test_paused_before_the_first_answer_it_does_not_say_that_it_asks(monkeypatch):
    live = Virtual({0.1: "p", 3.0: "q"})
    live.answers = False
    live.run(monkeypatch)
    assert "asking" in live.drawings[0] and "asking" not in live.drawings[-1]
    assert "paused" in live.drawings[-1]


def test_a_terminal_on_which_nothing_is_drawn_anew_is_refused(capsys, monkeypatch):
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert status_of(top, server="Server=127.0.0.1,1;Database=x") == 1
    assert "TERM=dumb: is a terminal on which nothing" in capsys.readouterr().err


def test_what_was_never_seen_is_not_said_to_be_shown_as_before():
    trouble = Trouble("sql1", "Login failed", "check UID")
    screen = Screen("x", [Seen(PLACE, None, trouble)])
    said = text_of(drawn(screen, live=False))
    assert "no answer: sql1: Login failed" in said and "before" not in said and "q quit" not in said
    screen.known = [Sample(PLACE, 0, {}, None, ())]
    said = text_of(drawn(screen))
    assert "shown as it was before" in said and "q quit" in said and "gate ?" in said


def test_a_warning_that_hides_an_error_is_not_taken_for_the_cause():
    raw = "[01003] [Microsoft][ODBC Driver 18][SQL Server]Warning: Null. (8153) (SQLExecDirectW)"
    model = load(CONFIGS / "audit.toml")
    why = refused(RuntimeError("01003", raw), "[audit].[usp_Figures]", model, PLACE, 15)
    assert why.why.startswith("failed; the driver shows the warning") and "verify" not in why.next
