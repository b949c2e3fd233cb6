"""The examples as processes, in Python and in Java: the same story is told in the same words.

Each story is one process, which keeps its connection from unit to unit as an application does. What
shall happen to a unit of work is set on the wire before its lines are written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from contextlib import contextmanager

import pytest

from tests.broker.tds.test_jdbc import driver_jar
from tests.waiting import HANGS

from .stage import CALLERS, WAYS_TO_GO

pytestmark = pytest.mark.driver
UNHURRIED = 20
"""Seconds for any statement of the example in Java, all of which have the same time-out."""
COMMIT, LOOK = "COMMIT TRANSACTION", "DECLARE @left int"
LANGUAGES = ["python", pytest.param("java", marks=pytest.mark.jvm)]


def command(language, stage):
    """What starts an example, and the connection string it takes."""
    if language == "python":
        return [sys.executable, str(CALLERS / "send.py")], stage.odbc
    java = shutil.which("java")
    if java is None:
        pytest.skip("no java on this machine")
    starts = [java, "-XX:TieredStopAtLevel=1", "-cp", str(driver_jar())]
    return [*starts, str(CALLERS / "Send.java")], stage.jdbc


class Application:
    """One running example."""

    def __init__(self, stage, process):
        self.stage, self.process = stage, process
        self.landed = []
        self.said = ""
        """What was printed beside the last answer's number."""

    def told(self, *texts):
        """Write a unit of work; the words it is answered by, the same for each of its lines."""
        ids = [str(uuid.uuid4()) for _ in texts]
        lines = [f"{one} {text}\n" for one, text in zip(ids, texts)]
        self.process.stdin.write("".join(lines) + "\n")
        self.process.stdin.flush()
        answers = [self.process.stdout.readline().split() for _ in ids]
        assert [answer[1] for answer in answers] == ids
        words = {
            tuple(answer[:1] if answer[0] == "unknown" else [answer[0], *answer[2:3]])
            for answer in answers
        }
        assert len(words) == 1 and self.stage.wire.waits == 0
        self.said = " ".join(answers[0][3:])
        return " ".join(words.pop())

    def hears(self, words, trap, expected, *texts, there):
        """A unit of work during which something happens: what is told, and whether it is there."""
        self.stage.wire.when(words, trap)
        assert self.told(*texts) == expected, (words, texts)
        self.landed += [text.encode() for text in texts] * there


@contextmanager
def started(stage, language, schema, mode, *more, key="-", options=""):
    """An example as a process. Its connection string comes from the environment."""
    program, server = command(language, stage)
    process = subprocess.Popen(
        [*program, "-", schema, key, mode, *more],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"REDIAL_SERVER": server + options},
    )
    try:
        yield Application(stage, process)
        _, said = process.communicate(timeout=HANGS)
        assert (process.returncode, said) == (0, "")
    finally:
        process.kill()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_transaction_is_there_or_not_or_unknown(stage, language):
    """1 All is well. 2 The connection goes before COMMIT. 3 The answer to COMMIT is lost."""
    with started(stage, language, "audit", "transaction") as application:
        assert application.told("a", "b") == "ok"
        application.landed += [b"a", b"b"]
        for how, done in WAYS_TO_GO.items():
            goes = stage.goes(how)
            application.hears("CURRENT_TRANSACTION_ID();", goes, "ok", how + " 1", there=True)
            application.hears("usp_Send", goes, "ok", how + " 2", how + " 3", there=True)
            application.hears(COMMIT, goes, "unknown", how + " 4", how + " 5", there=done)
        assert application.told("last") == "ok"
    assert stage.landed() == [*application.landed, b"last"]
    stage.is_clean()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_message_that_commits_by_itself_is_unknown_when_the_answer_is_lost(stage, language):
    """1 All is well. 2 The connection goes while usp_Send is called."""
    with started(stage, language, "audit", "autocommit") as application:
        assert application.told("a") == "ok"
        for how, done in WAYS_TO_GO.items():
            application.hears("usp_Send", stage.goes(how), "unknown", how, there=done)
        assert application.told("last") == "ok"
    assert stage.landed() == [b"a", *application.landed, b"last"]
    stage.is_clean()


@pytest.mark.parametrize("language", LANGUAGES)
def test_with_ids_and_exactly_once_a_batch_is_never_unknown_for_long(stage, language):
    """1 The connection goes at any moment of a batch: it is sent again, and lands once.

    2 The pool's one slot is taken, then free. 3 The gate is closed, then open.
    """
    with started(stage, language, "etl", "batch", "once") as application:
        for how in WAYS_TO_GO:
            for words in ("usp_SendBatch", COMMIT)[: 1 if language == "python" else 2]:
                application.hears(words, stage.goes(how), "ok", how + words, "and", there=True)
        stage.does(
            "BEGIN TRANSACTION; EXECUTE etl.usp_Send N'//redial/etl/initiator', "
            "N'//redial/etl/target', N'//redial/etl/contract', N'//redial/etl/event', 0x;"
        )
        freed = stage.wire.meanwhile(lambda: stage.does("ROLLBACK TRANSACTION;"))
        look = "SELECT 1;" if language == "python" else LOOK
        application.hears(look, freed, "ok", "after 50101", there=True)
        stage.does(
            "EXECUTE etl.usp_Drain @reason = N'test', @waitSeconds = 0, @keepClosed = 1, "
            "@WhatIf = 0;"
        )
        opened = stage.wire.meanwhile(
            lambda: stage.does("EXECUTE etl.usp_OpenGate @reason = N'test';")
        )
        application.hears(look, opened, "ok", "after 50102", there=True)
    assert stage.landed("etl") == application.landed
    stage.is_clean()


@pytest.mark.nightly("waits for two time-outs of twenty seconds")
@pytest.mark.jvm
def test_a_time_out_of_the_jdbc_driver_is_a_cancel(stage):
    """1 It meets usp_Send in a transaction: failed, nothing is there. 2 It meets COMMIT: unknown.

    Nobody is told of another try: the application asked for the time-out.
    """
    with started(
        stage, "java", "audit", "transaction", options=f";queryTimeout={UNHURRIED}"
    ) as application:
        application.hears("usp_Send", stage.wire.cancelled(), "failed 0", "a", "b", there=False)
        application.hears(COMMIT, stage.wire.cancelled(), "unknown", "c", there=False)
        assert application.told("last") == "ok"
    assert len(stage.wire.asked(COMMIT)) == 2
    assert stage.landed() == [b"last"]
    stage.is_clean()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_transaction_that_is_not_the_one_that_began_is_refused(stage, language):
    """1 A procedure ends the transaction and says nothing. 2 Nothing after it is committed."""
    with started(stage, language, "reborn", "transaction") as application:
        assert application.told("a") == "failed 50250"
        assert "Next: mend the work." in application.said
    assert stage.work() == []
    stage.is_clean()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wrong_argument_is_refused_once(stage, language):
    """1 A key for a configuration without keys. 2 Its number is told; nobody tries again."""
    with started(stage, language, "audit", "autocommit", key="k") as application:
        assert application.told("a") == "failed 50100"
        assert "@key must be NULL" in application.said
    assert len(stage.wire.asked("usp_Send")) == 1


@pytest.mark.sampled(every=6, meets=("language", "arguments"))
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "arguments", [[], ["-", "audit", "-", "transactions"], ["-", "audit", "-", "batch", "twice"]]
)
def test_wrong_arguments_are_answered_by_the_right_ones(stage, language, arguments):
    """Nothing is sent in a mode nobody asked for."""
    run = subprocess.run(
        [*command(language, stage)[0], *arguments],
        text=True,
        timeout=HANGS,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 1
    assert "CONFIG KEY autocommit|transaction|batch [once]" in run.stderr


@pytest.mark.parametrize(
    ("language", "change"),
    [
        ("python", ("PWD={", "PWD={x")),
        ("python", ("PWD={", "PWD=")),
        ("python", ("{shop}", "{no}")),
        ("python", ("Driver={/", "Driver={/nowhere/")),
        *(
            pytest.param("java", change, marks=pytest.mark.jvm)
            for change in [
                ("password={", "password={x"),
                ("password={", "password="),
                ("jdbc:", "jdbq:"),
            ]
        ),
    ],
)
def test_no_password_in_what_is_printed(stage, language, change):
    """Whatever is wrong with the connection string: a number is told, or why it cannot start."""
    program, server = command(language, stage)
    assert change[0] in server
    run = subprocess.run(
        [*program, "-", "audit", "-", "transaction"],
        input="1 text\n",
        text=True,
        timeout=HANGS,
        env=os.environ | {"REDIAL_SERVER": server.replace(*change)},
        capture_output=True,
        check=False,
    )
    assert "failed 1 " in run.stdout or run.returncode != 0
    assert stage.broker.password not in run.stdout + run.stderr
