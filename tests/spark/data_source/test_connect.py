"""Spark Connect, where a session has no JVM to call: the data source works all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from redial.spark.errors import PipelineError
from redial.spark.land import Landing, batch_function
from redial.spark.session import REMOTE, need_java_and_spark
from redial.spark.tables import KINDS, table
from tests.waiting import HANGS

from .conftest import ROOT
from .lab import bare_python, missing
from .shop import EACH, KEYS, Shop

pytestmark = [pytest.mark.driver, pytest.mark.jvm]

BATCH = """
import json, sys
from pyspark.sql import SparkSession
given = json.load(sys.stdin)
spark = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
bodies = spark.range(6).selectExpr("CAST(CAST(id AS string) AS binary) AS body")
(bodies.write.format("servicebroker").options(**given["sending"]).option("jobId", given["job"])
    .mode("append").save())
source = spark.read.format("servicebroker").options(**given["reading"])
rows = 0
while rows < 6:
    rows = source.load().count()
print(json.dumps([type(spark).__module__, rows]))
"""
STREAM = (
    BATCH
    + """
query = (spark.readStream.format("servicebroker").options(**given["reading"]).load()
    .writeStream.format("parquet").option("path", given["folder"] + "/out")
    .option("checkpointLocation", given["folder"] + "/checkpoint")
    .trigger(availableNow=True).start())
query.awaitTermination()
landed = spark.read.parquet(given["folder"] + "/out").count()
print(json.dumps([type(spark).__module__, rows, landed]))
"""
)


FULL_ONLY = pytest.mark.nightly("Spark Connect needs a server of its own")


def run(
    folder: Path, *command: str, text: str = "", **environment: str
) -> subprocess.CompletedProcess:
    """This interpreter, where Spark Connect can be used; else the test is skipped. folder: empty."""
    if why := missing():
        pytest.skip(why)
    if find_spec("grpc") is None:
        pytest.skip("Spark Connect's client is not installed: tools/setup --spark")
    return subprocess.run(
        [sys.executable, *command],
        input=text,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | bare_python(folder) | {"PYTHONPATH": ROOT} | environment,
        timeout=HANGS,
        check=False,
    )


def said(lab, folder: Path, script: str) -> list[object]:
    """What a script over Connect says last; the server takes a port that is free."""
    given = {
        "sending": lab.sending(),
        "reading": lab.options(startingMark=lab.mark()),
        "folder": str(folder),
        "job": folder.name,  # another one's would be a replay, which sends nothing
    }
    small = {"SPARK_TESTING": "1", "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    done = run(folder, "-c", script, text=json.dumps(given), **small)
    assert done.returncode == 0, done.stderr[-2000:]
    module, *found = json.loads(done.stdout.strip().splitlines()[-1])
    assert module.startswith("pyspark.sql.connect")
    return found


@FULL_ONLY
def test_a_session_over_connect_writes_and_reads(lab, tmp_path):
    assert said(lab, tmp_path, BATCH) == [6]


@FULL_ONLY
def test_a_session_over_connect_streams_too(lab, tmp_path):
    assert said(lab, tmp_path, STREAM) == [6, 6]


@FULL_ONLY
def test_landing_and_audit_work_over_connect_as_they_do_without(lab, tmp_path):
    """SPARK_REMOTE is all that is different. A file that isn't there and a table of another query
    are told as always, though Connect looks for them later and tells the server's words."""
    shop = Shop(lab.broker, "connected")
    # With SPARK_TESTING the server takes a port that is free.
    remote = {REMOTE: "local[2]", "SPARK_TESTING": "1"}
    job = "tests.spark.data_source.connect_job"
    done = run(tmp_path, "-m", job, shop.odbc, str(tmp_path), **remote)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["session"].startswith("pyspark.sql.connect")
    rows = 2 * len(KEYS) * (EACH + 1)
    assert [line.partition(" in ")[0] for line in said["landed"]] == [
        f"{rows} rows",
        f"{rows} rows",
        "1 rows",
        "1 rows",
    ]
    (whole, of_files), (loss, of_server) = said["audits"]
    assert (whole, of_files["landed"], of_files["lost"]) == (0, rows, 0)
    assert (loss, of_server["lost"], of_server["lost_by_key"]) == (1, 2, 2)
    assert said["absent"] == 2 and "Next: python -m redial.spark.land" in done.stderr
    assert "belongs to query" in said["refused"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_a_connect_server_runs_for_each_batch_can_be_sent_to_it(kind, tmp_path):
    """It is pickled in the client and run in the server; nothing of a session may be in it."""
    pickle = pytest.importorskip("pyspark.cloudpickle")
    sent = pickle.dumps(batch_function(Landing(table(kind, str(tmp_path))), "checkpoint"))
    assert callable(pickle.loads(sent))


def test_a_connect_server_has_its_own_java(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for remote in ("", "local[2]"):
        monkeypatch.setenv(REMOTE, remote)
        with pytest.raises(PipelineError, match="Java: is not installed"):
            need_java_and_spark()
    monkeypatch.setenv(REMOTE, "sc://spark.example:15002")
    need_java_and_spark()
