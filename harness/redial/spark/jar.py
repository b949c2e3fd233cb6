"""Jars by their Maven coordinates: pinned, fetched once with Maven, kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
"""Pinned too: without a version Maven takes the newest one, another on each machine."""

FETCH_SECONDS = 300
LOCAL = "REDIAL_JDBC_JAR"
"""Environment variable: a local file is taken instead of the pinned JDBC driver."""


@dataclass(frozen=True)
class Jar:
    """Coordinates, and a class that tells a whole jar from a page of a proxy."""

    group: str
    artifact: str
    version: str
    holds: str

    @property
    def coordinates(self) -> str:
        """As Maven and ``spark.jars.packages`` take them."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file(self) -> str:
        """Its file name."""
        return f"{self.artifact}-{self.version}.jar"


JDBC = Jar(
    "com.microsoft.sqlserver",
    "mssql-jdbc",
    "12.10.1.jre11",
    "com/microsoft/sqlserver/jdbc/SQLServerDriver.class",
)
DRIVER = "com.microsoft.sqlserver.jdbc.SQLServerDriver"
"""Named in every use: with spark.jars alone, java.sql.DriverManager does not see the driver."""

GROUP, ARTIFACT, VERSION, COORDINATES = JDBC.group, JDBC.artifact, JDBC.version, JDBC.coordinates


def spark_avro(spark_version: str) -> Jar:
    """Spark's Avro functions are a jar of its own version."""
    return Jar(
        "org.apache.spark",
        "spark-avro_2.13",
        spark_version,
        "org/apache/spark/sql/avro/AvroDataToCatalyst.class",
    )


def delta_spark(spark_version: str) -> tuple[Jar, ...]:
    """delta-spark is a jar for each minor version of Spark, and needs one more; () where there is
    no build we know.

    io.delta has none for 4.3 (Maven, November 2026), and the one for 4.2 does not run there: a
    constructor of Spark's that it calls is gone (NoSuchMethodError, seen with PySpark 4.3.0).
    """
    minor = ".".join(spark_version.split(".")[:2])
    build = {"4.2": "4.4.0"}.get(minor)
    if build is None:
        return ()
    extension = "io/delta/sql/DeltaSparkSessionExtension.class"
    return (
        Jar("io.delta", f"delta-spark_{minor}_2.13", build, extension),
        Jar("io.delta", "delta-storage", build, "io/delta/storage/LogStore.class"),
    )


class JarMissing(RuntimeError):
    """A jar cannot be had; the text says why and what to do."""


def jar_path(jar: Jar = JDBC) -> Path:
    """Where a jar is kept, whether or not it is there."""
    return user_cache_path("redial", ensure_exists=False) / "jars" / jar.file


def jdbc_jar() -> Path:
    """Path of Microsoft's driver, fetched when it is not there yet. Raises JarMissing."""
    local = os.environ.get(LOCAL)
    if local is None:
        return _kept(JDBC, jar_path())
    if not usable(Path(local)):
        raise JarMissing(
            f"{LOCAL} names {local}, which is no jar with Microsoft's driver. "
            f"Next: another file, or unset {LOCAL}"
        )
    return Path(local)


def avro_jar(spark_version: str) -> Path:
    """Path of Spark's Avro functions for this version of Spark. Raises JarMissing."""
    jar = spark_avro(spark_version)
    return _kept(jar, jar_path(jar))


def delta_jars(spark_version: str) -> list[Path]:
    """Paths of delta-spark's jars for this version of Spark. Raises JarMissing."""
    wanted = delta_spark(spark_version)
    if not wanted:
        raise JarMissing(
            f"delta-spark has no build for Spark {spark_version} that we know. "
            "Next: a Spark of version 4.2, or --kind delta, which needs no jar"
        )
    return [_kept(jar, jar_path(jar)) for jar in wanted]


def usable(path: Path, jar: Jar = JDBC) -> bool:
    """Whether a file is the whole jar: a broken download is fetched again."""
    try:
        with zipfile.ZipFile(path) as archive:
            return jar.holds in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def fetch_command(directory: Path, jar: Jar = JDBC) -> list[str]:
    """The command that puts a jar into ``directory``; also what a user is told to type."""
    return [
        "mvn",
        "-q",
        "-B",
        PLUGIN,
        f"-Dartifact={jar.coordinates}",
        f"-DoutputDirectory={directory}",
    ]


def _kept(jar: Jar, path: Path) -> Path:
    if not usable(path, jar):
        _fetch(jar, path)
    return path


def _fetch(jar: Jar, path: Path) -> None:
    if shutil.which("mvn") is None:
        raise JarMissing(
            f"{jar.coordinates} is not in {path.parent} and mvn is not installed. "
            "Next: apt-get install -y maven, then the same again"
        )
    # Next to its place and then renamed: two at once, or a cut line, leave no half jar.
    directory = path.parent / f"fetch-{os.getpid()}"
    command = fetch_command(directory, jar)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
        )
        fetched = directory / path.name
        if done.returncode or not usable(fetched, jar):
            words = (done.stdout + done.stderr).strip().splitlines()
            why = words[0] if words else f"exit status {done.returncode}"
            raise JarMissing(
                f"{jar.coordinates} could not be fetched: {why[:300]}. Next: {' '.join(command)}"
            )
        fetched.replace(path)
    except subprocess.TimeoutExpired:
        raise JarMissing(
            f"{jar.coordinates} was not there after {FETCH_SECONDS} s. Next: {' '.join(command)}"
        ) from None
    finally:
        shutil.rmtree(directory, ignore_errors=True)
