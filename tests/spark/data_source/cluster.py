"""A standalone cluster of two workers on this machine, of PySpark's own jars."""

from __future__ import annotations

import os
import re
import subprocess
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pyspark

HOME = Path(pyspark.__file__).parent
MASTER, WORKER = (f"org.apache.spark.deploy.{name}" for name in ("master.Master", "worker.Worker"))
URL = re.compile(r"Starting Spark master at (spark://\S+)")
JOINED = re.compile(r"Successfully registered with master")
SMALL_JVM = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1"}


class NotStarted(AssertionError):
    """A part of the cluster ended before it was ready; the text is its log."""


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Its URL. The master, and two workers of one core each, whose executors have nothing of this
    process: neither its Python path nor its packages. folder: for logs and executors."""
    with ExitStack() as parts:
        master = parts.enter_context(
            _part(folder / "master", MASTER, "--host", "127.0.0.1", "--port", "0")
        )
        url = _said(master, URL)[1]
        workers = [
            parts.enter_context(
                _part(
                    folder / f"worker{n}",
                    WORKER,
                    *("--host", "127.0.0.1", "--cores", "1", "--memory", "1g"),
                    *("--work-dir", str(folder / f"worker{n}"), url),
                )
            )
            for n in range(2)
        ]
        for worker in workers:
            _said(worker, JOINED)
        yield url


@contextmanager
def _part(folder: Path, main: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """One daemon; it ends with the block."""
    folder.mkdir()
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" and "PYSPARK" not in k}
    process = subprocess.Popen(
        [HOME / "bin" / "spark-class", main, "--webui-port", "0", *arguments],
        cwd=folder,
        env=kept | SMALL_JVM | {"SPARK_HOME": str(HOME)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _said(process: subprocess.Popen[str], pattern: re.Pattern[str]) -> re.Match[str]:
    """What it says when it is ready."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if found := pattern.search(line):
            # It goes on talking, and stops when nobody reads.
            Thread(target=deque, args=(process.stderr, 0), daemon=True).start()
            return found
    raise NotStarted("".join(lines[-40:]))
