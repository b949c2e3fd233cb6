"""What the jobs show on a terminal, and how they hear Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from redial.paths import SOURCES
from redial.spark import interrupts
from redial.spark.land import Landed
from redial.spark.session import LOG_PROFILE, need_java_and_spark
from tests.waiting import HANGS

END = {"broker": "0B16", "mark": "0x00000000000007D1"}


@pytest.mark.parametrize("told", [END, json.dumps(END), json.dumps(END, indent=1), str(END)])
def test_the_mark_is_found_however_a_spark_version_tells_an_offset(told):
    """A dict over Connect; JSON; Spark 4.0.5 gives Python's text of a dict."""
    landed = Landed()
    one = {"batchId": 0, "sources": [{"numInputRows": 3, "endOffset": told, "latestOffset": None}]}
    landed.count(SimpleNamespace(recentProgress=[one]))
    assert (landed.rows, landed.mark) == (3, 0x7D1)


def test_an_offset_of_another_source_is_no_mark():
    landed = Landed()
    offsets = {"endOffset": '{"logOffset":0}', "latestOffset": '{"logOffset":1}'}
    one = {"batchId": 0, "sources": [{"numInputRows": 3} | offsets]}
    landed.count(SimpleNamespace(recentProgress=[one]))
    assert (landed.rows, landed.mark) == (3, None)


@pytest.fixture
def before():
    """A handler that is noted; the one of this process is put back."""
    kept, came = signal.getsignal(signal.SIGINT), []
    signal.signal(signal.SIGINT, lambda *_: came.append(1))
    yield came
    signal.signal(signal.SIGINT, kept)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_is_noted_and_the_second_does_what_it_did_before(before):
    with interrupts.noted() as came:
        assert not came()
        interrupt()
        assert came() and before == []
        interrupt()
        assert before == [1]


def test_after_the_block_an_interrupt_does_what_it_did_before_it(before):
    with interrupts.noted():
        pass
    interrupt()
    assert before == [1]


def test_in_another_thread_an_interrupt_stays_what_it_was(before):
    def wait() -> None:
        with interrupts.noted() as came:
            interrupt()
            told.append(came())

    told: list[bool] = []
    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert told == [False] and before == [1]


@pytest.mark.jvm
@pytest.mark.nightly("a session of its own")
def test_a_session_that_starts_says_nothing_but_javas_own_line(tmp_path):
    """And an error is still shown: here a setting that Spark refuses."""
    need_java_and_spark()
    program = "from redial.spark.session import spark_session; spark_session('quiet')"
    for more, words in (("", ""), (", settings={'spark.executor.memory': '1'}", "ERROR")):
        done = subprocess.run(
            [sys.executable, "-c", program.replace("')", f"'{more})")],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(SOURCES)},
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
        lines = [line for line in done.stderr.splitlines() if "incubator" not in line]
        assert (words in done.stderr) if words else lines == []


def test_the_log_profile_is_where_the_session_looks():
    assert "rootLogger.level" in LOG_PROFILE.read_text(encoding="utf-8")
