"""The Spark tests against another version of Spark than the locked one, in its own environment.

``.venv/bin/python tools/spark_smoke.py [VERSION] [pytest arguments]`` makes ``var/spark-VERSION``
(4.1.4 by default; PySpark is a download of 455 MB), installs what the tests need and runs
``tests/spark/data_source``, or the paths that are given. With ``REDIAL_FULL=1`` and
``4.2.1 tests/spark/pipeline`` it runs delta-spark, which has no build for 4.3. Exit status:
pytest's.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements-lock.txt"
VERSION = "4.1.4"


def main(arguments: list[str]) -> int:
    """Make the environment where it is not there yet, then test with it."""
    version = arguments[0] if arguments and arguments[0][0].isdigit() else VERSION
    rest = arguments[1:] if arguments and arguments[0][0].isdigit() else arguments
    folder = ROOT / "var" / f"spark-{version}"
    python = folder / "bin" / "python"
    done, wanted = folder / "installed", "\n".join([LOCK.read_text(), *spark_lock(version)])
    if not done.exists() or done.read_text() != wanted:
        print(f"making {folder.relative_to(ROOT)}: PySpark {version}, a download of 455 MB")
        venv.create(folder, with_pip=True)
        subprocess.run(
            [
                python,
                "-m",
                "pip",
                "install",
                "-q",
                "--disable-pip-version-check",
                "--no-input",
                "-r",
                LOCK,
                *spark_lock(version),
            ],
            check=True,
        )
        done.write_text(wanted)
    if not any(part.startswith("tests/") for part in rest):
        rest = ["tests/spark/data_source", *rest]
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *rest],
        cwd=ROOT,
        check=False,
    ).returncode


def spark_lock(version: str) -> list[str]:
    """The locked packages beside PySpark, and PySpark in another version with its own py4j."""
    lines = (ROOT / "requirements-lock-spark.txt").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith(("#", "pyspark==", "py4j=="))]
    return [f"pyspark=={version}", *kept]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
