"""Spark Connect, where a session has no JVM to call: the data source works all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.sampling import full
from tests.waiting import HANGS

from .conftest import ROOT
from .lab import missing

pytestmark = [pytest.mark.driver, pytest.mark.jvm]

SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
given = json.load(sys.stdin)
spark = SparkSession.builder.remote("local[2]").getOrCreate()
bodies = spark.range(6).selectExpr("CAST(CAST(id AS string) AS binary) AS body")
(bodies.write.format("servicebroker").options(**given["sending"]).option("jobId", "connect")
    .mode("append").save())
source = spark.read.format("servicebroker").options(**given["reading"])
rows = 0
while rows < 6:
    rows = source.load().count()
query = (spark.readStream.format("servicebroker").options(**given["reading"]).load()
    .writeStream.format("parquet").option("path", given["folder"] + "/out")
    .option("checkpointLocation", given["folder"] + "/checkpoint")
    .trigger(availableNow=True).start())
query.awaitTermination()
landed = spark.read.parquet(given["folder"] + "/out").count()
print(json.dumps([type(spark).__module__, rows, landed]))
"""


@pytest.mark.skipif(not full(), reason="Spark Connect needs a server of its own: REDIAL_FULL=1")
def test_a_session_over_connect_writes_reads_and_streams(lab, tmp_path):
    if why := missing():
        pytest.skip(why)
    if find_spec("grpc") is None:
        pytest.skip("Spark Connect's client is not installed: tools/setup --spark")
    python = sys.executable
    environment = os.environ | {
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
        "PYTHONPATH": ROOT,
        "SPARK_TESTING": "1",  # a free port for its server, instead of one that may be in use
    }
    given = {
        "sending": lab.sending(),
        "reading": lab.options(startingMark=lab.mark()),
        "folder": str(tmp_path),
    }
    done = subprocess.run(
        [python, "-c", SCRIPT],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        env=environment,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    module, rows, landed = json.loads(done.stdout.strip().splitlines()[-1])
    assert module.startswith("pyspark.sql.connect") and (rows, landed) == (6, 6)
