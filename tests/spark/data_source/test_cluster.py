"""Executors in processes of their own, which share nothing with the driver but the disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from redial.paths import ROOT
from tests.waiting import HANGS

from .lab import bare_python, missing, python_without_us

pytestmark = [pytest.mark.driver, pytest.mark.jvm]
FULL_ONLY = pytest.mark.nightly("a cluster is up to six JVMs")

JOB = Path(__file__).with_name("cluster_job.py")
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    # No task before both executors are there, or one of them could do all.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{HANGS}s",
}
SMALL_JVMS = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
}


def given(lab, folder: Path, **more: object) -> dict:
    """What the job is told."""
    return {
        "sending": lab.sending(),
        "reading": lab.options(startingMark=lab.mark()),
        "job": folder.name,
        "odbc": lab.odbc,
        "to": str(folder / "lake"),
        "land": True,
    } | more


def submitted(folder: Path, master: str, told: dict, *more: str, **environment: str) -> dict:
    """What the job says of itself. folder: where spark-submit is called, with nothing of ours."""
    from .cluster import HOME

    settings = SETTINGS | (SMALL_JVMS if master.startswith("local") else {})
    conf = [part for pair in settings.items() for part in ("--conf", "=".join(pair))]
    done = subprocess.run(
        [HOME / "bin" / "spark-submit", "--master", master, *conf, *more, JOB, json.dumps(told)],
        cwd=folder,
        env=bare_environment() | {"SPARK_HOME": str(HOME)} | environment,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def bare_environment() -> dict[str, str]:
    """This process's, without the sources that a session of an earlier test has put there."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def refused_alone(python: str, folder: Path) -> None:
    """The interpreter has nothing of ours by itself."""
    alone = [python, "-c", "import pyspark_servicebroker"]
    done = subprocess.run(
        alone, cwd=folder, env=bare_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr, done.stderr


@FULL_ONLY
def test_an_executor_of_its_own_sends_and_reads(lab, tmp_path):
    """The smallest cluster: Spark's local-cluster, whose executor keeps its folder in SPARK_HOME."""
    if why := missing():
        pytest.skip(why)
    from .cluster import HOME

    home = tmp_path / "home"
    home.mkdir()
    for one in HOME.iterdir():
        (home / one.name).symlink_to(one)
    environment = bare_python(tmp_path) | {"SPARK_HOME": str(home)}
    told = given(lab, tmp_path, land=False)
    said = submitted(tmp_path, "local-cluster[1,2,512]", told, **environment)
    assert said["master"].startswith("local-cluster")
    (executor,) = map(Path, said["executors"])
    assert executor.is_relative_to(home / "work") and said["read"] == 6


@FULL_ONLY
def test_both_workers_of_a_cluster_send_read_and_land(lab, tmp_path):
    if why := missing():
        pytest.skip(why)
    from .cluster import cluster

    with cluster(tmp_path) as url:
        said = submitted(tmp_path, url, given(lab, tmp_path), **bare_python(tmp_path))
    whole(said)


def whole(said: dict) -> None:
    """Both did it, and nothing is missing."""
    assert said["master"].startswith("spark://")
    assert [Path(folder).parents[1].name for folder in said["executors"]] == ["worker0", "worker1"]
    assert said["read"] == 6 and said["status"] == 0 and said["landed"] >= 6


@FULL_ONLY
def test_a_zip_of_the_package_is_enough_where_workers_have_only_what_it_needs(lab, tmp_path):
    """docs/spark.md, Without an installation: what is typed there."""
    if why := missing():
        pytest.skip(why)
    from .cluster import cluster

    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT]
    subprocess.run(build, capture_output=True, check=True, timeout=HANGS)
    [wheel] = tmp_path.glob("*.whl")
    package = wheel.rename(tmp_path / "redial.zip")
    python = python_without_us(tmp_path)
    refused_alone(python["PYSPARK_PYTHON"], tmp_path)
    shipped = ("--py-files", package.name)
    python["PYTHONPATH"] = package.name
    with cluster(tmp_path) as url:
        said = submitted(tmp_path, url, given(lab, tmp_path), *shipped, **python)
    whole(said)
