"""``spark-submit land.py`` and ``audit.py``: their folder then comes first on Python's path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from redial.paths import PACKAGE, SOURCES
from tests.waiting import HANGS

FOLDERS = (PACKAGE / "spark", SOURCES / "pyspark_servicebroker")
SUBMIT = Path(sys.executable).parent / "spark-submit"


def hidden(folder: Path) -> list[str]:
    """Modules of the standard library that nobody finds while this folder comes first."""
    return sorted({path.stem for path in folder.glob("*.py")} & sys.stdlib_module_names)


def run(command: Iterable[object], folder: Path) -> subprocess.CompletedProcess:
    """From a folder with nothing of ours, which Python finds by its path alone."""
    own = dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=os.environ | own | {"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_module_beside_the_jobs_has_a_name_of_the_standard_library(folder):
    assert (folder / "__init__.py").exists() and hidden(folder) == []


def test_one_that_has_is_found_and_would_keep_pyspark_from_being_imported(tmp_path):
    """The fault that was: profile.py, which cProfile imports, which PySpark imports."""
    pytest.importorskip("pyspark")
    script = tmp_path / "job.py"
    script.write_text("import pyspark.sql\n")
    assert run([sys.executable, script], tmp_path).returncode == 0
    (tmp_path / "profile.py").write_text("")
    assert hidden(tmp_path) == ["profile"]
    done = run([sys.executable, script], tmp_path)
    assert done.returncode and "profile" in done.stderr


@pytest.mark.parametrize("name", ["land", "audit"])
def test_a_job_is_a_script_that_explains_itself(name, tmp_path):
    done = run([sys.executable, PACKAGE / "spark" / f"{name}.py", "--help"], tmp_path)
    assert done.returncode == 0 and "Exit status: 0" in done.stdout, done.stderr


@pytest.mark.jvm
@pytest.mark.nightly("spark-submit starts a JVM for each job")
def test_spark_submit_audits_and_its_status_is_the_verdicts(spark, tmp_path):
    """No server is asked, so this is the script, the session and the status alone."""
    rows = [("A", n, "EndOfStream" if n == 3 else "event") for n in range(4)]
    schema = "conversation string, sequence bigint, type string"
    for name, kept in (("whole", rows), ("lost", [rows[0], *rows[2:]])):
        spark.createDataFrame(kept, schema).write.parquet(str(tmp_path / name))
    for name, status in (("whole", 0), ("lost", 1), ("absent", 2)):
        figures = tmp_path / f"{name}.json"
        job = [SUBMIT, "--master", "local[1]", PACKAGE / "spark" / "audit.py"]
        done = run([*job, "--landed", tmp_path / name, "--json", figures], tmp_path)
        assert done.returncode == status, done.stdout + done.stderr
        if status < 2:
            assert json.loads(figures.read_text(encoding="utf-8"))["lost"] == status
