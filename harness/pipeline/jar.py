"""Microsoft's JDBC driver: pinned, fetched once with Maven, kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

from platformdirs import user_cache_path

GROUP, ARTIFACT, VERSION = "com.microsoft.sqlserver", "mssql-jdbc", "12.10.1.jre11"
COORDINATES = f"{GROUP}:{ARTIFACT}:{VERSION}"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
"""Pinned too: without a version Maven takes the newest one, another on each machine."""

FETCH_SECONDS = 300


class JarMissing(RuntimeError):
    """The driver cannot be had; the text says why and what to do."""


def jar_path() -> Path:
    """Where the jar is kept, whether or not it is there."""
    return user_cache_path("redial", ensure_exists=False) / "jars" / f"{ARTIFACT}-{VERSION}.jar"


def jdbc_jar() -> Path:
    """Path of the jar, fetched when it is not there yet. Raises JarMissing."""
    path = jar_path()
    if not usable(path):
        _fetch(path)
    return path


def usable(path: Path) -> bool:
    """Whether a file is a whole jar with the driver's class: a broken download is fetched again."""
    try:
        with zipfile.ZipFile(path) as jar:
            return "com/microsoft/sqlserver/jdbc/SQLServerDriver.class" in jar.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def fetch_command(directory: Path) -> list[str]:
    """The command that puts the jar into ``directory``; also what a user is told to type."""
    return [
        "mvn", "-q", "-B", PLUGIN, f"-Dartifact={COORDINATES}", f"-DoutputDirectory={directory}",
    ]  # fmt: skip


def _fetch(path: Path) -> None:
    if shutil.which("mvn") is None:
        raise JarMissing(
            f"{COORDINATES} is not in {path.parent} and mvn is not installed. "
            "Next: apt-get install -y maven, then run the demo again"
        )
    # Next to its place and then renamed: two demos at once, or a cut line, leave no half jar.
    directory = path.parent / f"fetch-{os.getpid()}"
    command = fetch_command(directory)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
        )
        fetched = directory / path.name
        if done.returncode or not usable(fetched):
            words = (done.stdout + done.stderr).strip().splitlines()
            why = words[0] if words else f"exit status {done.returncode}"
            raise JarMissing(
                f"{COORDINATES} could not be fetched: {why[:300]}. Next: {' '.join(command)}"
            )
        fetched.replace(path)
    except subprocess.TimeoutExpired:
        raise JarMissing(
            f"{COORDINATES} was not there after {FETCH_SECONDS} s. Next: {' '.join(command)}"
        ) from None
    finally:
        shutil.rmtree(directory, ignore_errors=True)
