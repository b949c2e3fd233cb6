"""A standalone cluster of two workers, where executors share nothing with the driver but the disk."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.sampling import full
from tests.waiting import HANGS

from .lab import bare_python, missing

pytestmark = [
    pytest.mark.driver,
    pytest.mark.jvm,
    pytest.mark.skipif(not full(), reason="a cluster is six JVMs: REDIAL_FULL=1"),
]

JOB = Path(__file__).with_name("cluster_job.py")
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    # No task before both executors are there, or one of them could do all.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{HANGS}s",
}


def test_both_workers_of_a_cluster_send_read_and_land(lab, tmp_path):
    if why := missing():
        pytest.skip(why)
    from .cluster import HOME, cluster

    given = {
        "sending": lab.sending(),
        "reading": lab.options(startingMark=lab.mark()),
        "job": "cluster",
        "odbc": lab.odbc,
        "to": str(tmp_path / "lake"),
    }
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    python = bare_python(tmp_path)
    conf = [part for pair in SETTINGS.items() for part in ("--conf", "=".join(pair))]
    with cluster(tmp_path) as url:
        done = subprocess.run(
            [HOME / "bin" / "spark-submit", "--master", url, *conf, JOB, json.dumps(given)],
            cwd=tmp_path,
            env=kept | python | {"SPARK_HOME": str(HOME)},
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["master"].startswith("spark://")
    assert [Path(folder).parents[1].name for folder in said["executors"]] == ["worker0", "worker1"]
    assert said["read"] == 6 and said["status"] == 0 and said["landed"] >= 6
