"""The Spark tests against other versions of PySpark than the locked one, each in its own environment.

``.venv/bin/python tools/spark_smoke.py [VERSION ...] [pytest arguments]`` makes ``var/spark-VERSION``
for each (a download of 455 MB), installs what the tests need and runs ``tests/spark/data_source``
and ``tests/spark/pipeline``. VERSION: 4.0 is the newest 4.0.x, 4.0.1 that one. Without any: the
newest of every minor version pyproject.toml allows, but for the locked one, which the suite itself
is run with. With ``REDIAL_FULL=1`` and ``4.2`` it runs delta-spark, which has no build for 4.3.
Exit status: 0 when all passed, else pytest's of the first that did not.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK, SPARK_LOCK = ROOT / "requirements-lock.txt", ROOT / "requirements-lock-spark.txt"
BOUNDS = re.compile(r'"pyspark>=(\d+)\.(\d+),<(\d+)\.(\d+)"')
LOCKED = re.compile(r"^pyspark==(\d+\.\d+)", re.MULTILINE)
TESTS = ("tests/spark/data_source", "tests/spark/pipeline")


def main(arguments: list[str]) -> int:
    """Test with each; all are tried, whatever one of them says."""
    named = list(takewhile(lambda one: one[:1].isdigit(), arguments))
    results = {one: tested(one, arguments[len(named) :]) for one in named or others()}
    for version, status in results.items():
        print(f"PySpark {version}: {'passed' if status == 0 else f'pytest says {status}'}")
    return next((status for status in results.values() if status), 0)


def others() -> list[str]:
    """The minor versions pyproject.toml allows, but for the locked one. ValueError when its bounds
    are not written as they are read here."""
    bounds = BOUNDS.search((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    locked = LOCKED.search(SPARK_LOCK.read_text(encoding="utf-8"))
    if bounds is None or locked is None or bounds[1] != bounds[3]:
        raise ValueError(
            "pyproject.toml: the bounds of pyspark are not two minor versions of one major. "
            "Next: adapt BOUNDS in tools/spark_smoke.py"
        )
    minors = range(int(bounds[2]), int(bounds[4]))
    return [one for n in minors if (one := f"{bounds[1]}.{n}") != locked[1]]


def tested(version: str, rest: list[str]) -> int:
    """pytest's exit status in an environment with that version, which is made or brought up to date."""
    folder = ROOT / "var" / f"spark-{version}"
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder.relative_to(ROOT)}: PySpark {version}, a download of 455 MB")
        venv.create(folder, with_pip=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*pip, "--upgrade", "-r", LOCK, *spark_lock(version)], check=True)
    # This clone too, in place: Spark's own processes look for the data source by its name.
    clone = ["--no-deps", "--no-build-isolation", "-e", ROOT]
    subprocess.run([*pip, *clone], check=True)
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    chosen = () if any(one.startswith("tests") for one in rest) else TESTS
    print(f"PySpark {version}:", flush=True)
    return subprocess.run([*pytest, *chosen, *rest], cwd=ROOT, check=False).returncode


def spark_lock(version: str) -> list[str]:
    """The locked packages beside PySpark, and PySpark in another version with its own py4j."""
    lines = SPARK_LOCK.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith(("#", "pyspark==", "py4j=="))]
    exact = version.count(".") > 1
    return [f"pyspark=={version}" if exact else f"pyspark~={version}.0", *kept]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
