"""Sending from any thread, as docs/spark.md says; and what takes it away from the main thread."""

from __future__ import annotations

import os
import threading
import uuid

import pytest

from redial.spark.session import spark_session, use_here
from tests.waiting import HANGS

from .test_session import numbers, read, write

pytestmark = [pytest.mark.driver, pytest.mark.jvm]
NOT_FOUND = "DATA_SOURCE_NOT_FOUND"


def in_a_thread(work) -> list[Exception]:
    """Run it in a thread of its own; what it raised."""
    raised: list[Exception] = []

    def catching():
        try:
            work()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=catching)
    thread.start()
    thread.join()
    return raised


def stream(spark, lab, folder):
    """One AvailableNow run of a folder of JSON lines into messages."""
    (
        spark.readStream.schema("body STRING")
        .json(str(folder / "in"))
        .selectExpr("CAST(body AS binary) AS body")
        .writeStream.format("servicebroker")
        .options(**lab.sending())
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination(HANGS)
    )


def test_a_thread_that_made_its_session_active_sends_and_one_that_did_not_reads_only(
    spark, lab, tmp_path
):
    since, job = lab.mark(), str(uuid.uuid4())
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"body": "streamed"}\n')
    assert in_a_thread(lambda: read(spark, lab, since).schema) == []
    for work in (
        lambda: write(numbers(spark, 2), lab, jobId=job),
        lambda: stream(spark, lab, tmp_path),
    ):
        (error,) = in_a_thread(work)
        assert NOT_FOUND in str(error)

        def documented(work=work):
            spark.createDataFrame([], "nothing int")
            work()

        assert in_a_thread(documented) == []
    assert sorted(lab.landed(since, 3)) == [b"0", b"1", b"streamed"]


def test_our_session_is_active_in_the_thread_that_asks_for_it(spark, lab):
    since = lab.mark()
    assert in_a_thread(lambda: write(numbers(spark_session("any"), 1), lab)) == []
    assert lab.landed(since, 1) == [b"0"]


def fork():
    """A child that ends at once."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def test_a_fork_in_another_thread_takes_the_main_threads_session_away(spark, lab):
    """Why tests/conftest.py makes the session active before each test (F-454)."""
    since = lab.mark()
    fork()
    write(numbers(spark, 1), lab)
    assert in_a_thread(fork) == []
    with pytest.raises(Exception, match=NOT_FOUND):
        write(numbers(spark, 1), lab)
    use_here(spark)
    write(numbers(spark, 1), lab)
    assert lab.landed(since, 2) == [b"0", b"0"]
