"""A Spark session for a job of the pipeline, or what is missing for one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from redial.paths import SOURCES
from redial.spark.errors import PipelineError
from redial.wheel import pip_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT_JOB = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVM options of a job of seconds on two cores: the second compiler and a parallel collector cost
more than they bring (start to first result: half the time, measured)."""

LOG_PROFILE = Path(__file__).with_name("log4j2.properties")
"""What a session made here says of itself until it has its log level: no more than after it."""
LEVEL = "spark.log.level"
"""Spark's setting for what the JVM logs."""

GATEWAY = "PYSPARK_GATEWAY_PORT"
"""Environment variable with which spark-submit starts Python."""
REMOTE = "SPARK_REMOTE"
"""Environment variable, Spark's own: sc://host is a Connect server that is there, local[2] is one
that the session starts for itself."""


def need_java_and_spark() -> None:
    """Raise PipelineError when Java or PySpark is missing, with the command that installs it.
    Where a Connect server is named, Java is its own affair."""
    java = os.environ.get("JAVA_HOME")
    there = shutil.which("java") is not None or (java and (Path(java) / "bin/java").exists())
    if not there and not os.environ.get(REMOTE, "").startswith("sc://"):
        raise PipelineError(
            "Java",
            "is not installed (Spark 4 needs 17 or 21)",
            "apt-get install -y openjdk-17-jre-headless, then the same command again",
        )
    if find_spec("pyspark") is None:
        raise PipelineError(
            "PySpark",
            "is not installed",
            f"{pip_install('spark')}, then the same command again",
        )


def spark_session(
    name: str,
    *,
    jars: Sequence[str | Path] = (),
    master: str = "local[2]",
    java_options: str = SHORT_JOB,
    settings: dict[str, str] | None = None,
) -> SparkSession:
    """The session there is (spark-submit, a notebook's), else one of the Connect server that
    SPARK_REMOTE names, else a local one on two cores.

    name: the application's. jars: JDBC drivers. The others are of a session made here; a server
    that was there before has settings of its own.
    The workers run this interpreter and find this package. The thread that calls can write with
    it, also when it is not the one that made it (use_here). Raises PipelineError.
    """
    need_java_and_spark()
    from pyspark.sql import SparkSession

    # Spark's own default is python3 from PATH, which is not this environment.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    path = os.environ.get("PYTHONPATH", "")
    if str(SOURCES) not in path.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(SOURCES), path)))
    # spark-submit starts Python with a gateway and says master, jars and memory itself.
    submitted = GATEWAY in os.environ
    remote = os.environ.get(REMOTE, "")
    builder = SparkSession.builder.appName(name)
    if not submitted and not remote:  # Spark refuses both
        builder = builder.master(master)
    own = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        LEVEL: "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "127.0.0.1",
    } | ({"spark.jars": ",".join(map(str, jars))} if jars else {})
    own |= settings or {}
    own.setdefault("spark.driver.extraJavaOptions", f"{java_options}{_log_profile(own[LEVEL])}")
    given = submitted or remote.startswith("sc://")
    if not given and SparkSession.getActiveSession() is None:
        for key, value in own.items():
            builder = builder.config(key, value)
    return use_here(builder.getOrCreate())


def _log_profile(level: str) -> str:
    """JVM options, after a space, that name LOG_PROFILE and its level. Empty where the user has a
    folder of settings, for then his own profile counts, and where ours is no file (in a zip)."""
    if "SPARK_CONF_DIR" in os.environ or not LOG_PROFILE.is_file():
        return ""
    return f' -Dredial.log.level={level} "-Dlog4j2.configurationFile={LOG_PROFILE}"'


def use_here(session: SparkSession) -> SparkSession:
    """Make a session the active one of the calling thread, and return it.

    Without one ``df.write`` finds no data source that is written in Python, and getOrCreate leaves
    that as it is (F-453). createDataFrame is the public call that does it.
    """
    session.createDataFrame([], "nothing int")
    return session
