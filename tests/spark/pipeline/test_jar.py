"""The JDBC driver is fetched once, checked, and its absence explained with the next command."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from redial.spark import jar

CLASS = "com/microsoft/sqlserver/jdbc/SQLServerDriver.class"


def write_jar(path: Path, name: str = CLASS) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, b"")


@pytest.fixture
def place(tmp_path, monkeypatch):
    path = tmp_path / "jars" / f"{jar.ARTIFACT}-{jar.VERSION}.jar"
    monkeypatch.setattr(jar, "jar_path", lambda: path)
    return path


@pytest.fixture
def maven(monkeypatch, place):
    """A Maven that writes what ``maven.writes`` says; ``maven.calls`` counts it."""

    class Maven:
        calls = 0
        writes = CLASS

        def run(self, command, **_):
            self.calls += 1
            if self.writes:
                directory = command[-1].partition("=")[2]
                write_jar(Path(directory) / place.name, self.writes)
            return subprocess.CompletedProcess(
                command, 0 if self.writes else 1, "[ERROR] Could not resolve\nmore\n", ""
            )

    found = Maven()
    monkeypatch.setattr(jar.shutil, "which", lambda name: "/usr/bin/mvn")
    monkeypatch.setattr(jar.subprocess, "run", found.run)
    return found


def test_the_jar_is_fetched_once(place, maven):
    assert jar.jdbc_jar() == jar.jdbc_jar() == place
    assert maven.calls == 1
    assert list(place.parent.iterdir()) == [place]


def test_a_broken_file_is_fetched_again(place, maven):
    place.parent.mkdir()
    place.write_bytes(b"half a jar")
    assert jar.jdbc_jar() == place
    assert jar.usable(place)


def test_a_jar_without_the_driver_is_refused(place, maven):
    maven.writes = "something/Else.class"
    with pytest.raises(jar.JarMissing, match="could not be fetched"):
        jar.jdbc_jar()
    assert not place.exists()


def test_mavens_first_words_and_the_command_to_repeat_are_shown(place, maven):
    maven.writes = ""
    with pytest.raises(jar.JarMissing, match=r"Could not resolve.*Next: mvn -q -B"):
        jar.jdbc_jar()


def test_without_maven_the_next_command_installs_it(place, monkeypatch):
    monkeypatch.setattr(jar.shutil, "which", lambda name: None)
    with pytest.raises(jar.JarMissing, match="Next: apt-get install -y maven"):
        jar.jdbc_jar()


def test_the_coordinates_and_the_plugin_are_pinned():
    assert jar.fetch_command(Path("x"))[3].count(":") == 3
    assert f":{jar.VERSION}" in jar.COORDINATES


def test_delta_spark_is_two_jars_of_one_version_for_the_minor_version_of_spark():
    by_spark, storage = jar.delta_spark("4.2.1")
    assert by_spark.artifact == "delta-spark_4.2_2.13"
    assert by_spark.version == storage.version


def test_where_delta_spark_has_no_build_the_next_step_is_the_kind_that_needs_no_jar():
    with pytest.raises(jar.JarMissing, match=r"no build for Spark 4\.3\.0.*Next: .*--kind delta"):
        jar.delta_jars("4.3.0")
