"""For the whole suite: the same examples in every run, none judged by a clock, families sampled."""

from __future__ import annotations

import gc
import logging
import os
import resource
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from redial.paths import ROOT
from redial_lab.nights import NIGHTLY, Nights
from tests import delta_spark, installed
from tests.parts import Keeper, Part
from tests.sampling import FULL, NIGHT, PART, SMALL, every_night, full, has_turn, sample, turn

STATM = Path("/proc/self/statm")
PAGE = resource.getpagesize()

settings.register_profile(
    "redial", deadline=None, derandomize=True, max_examples=100 if full() else 40
)
settings.load_profile("redial")


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker: sampled(every=N), with what tests.sampling.sample takes besides."""
    if full():
        turn(1)  # every process is told before it begins
    gc.set_threshold(200_000, 1_000, 1_000)  # of what is imported and collected nothing is garbage
    config.addinivalue_line(
        "markers",
        "sampled(every, meets, last): a family with more variants than the suite has time for; every N-th "
        "runs, and the last, always the same ones; of the arguments that meets names each choice is "
        f"met; with {FULL}=1 a third of the others runs too, in turns",
    )
    config.addinivalue_line(
        "markers",
        f"nightly(why): not on the gate; with {FULL}=1 a third of them runs, in turns",
    )
    if keeper := Keeper.of_environment(config):
        config.pluginmanager.register(keeper)
    config.addinivalue_line(
        "markers", "breaks_the_broker: raises inside the embedded broker, to see who else suffers"
    )


class _Defects(logging.Handler):
    """Exceptions nobody foresaw, which end a session of the embedded broker and no test."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one, with its traceback."""
        self.found.append(self.format(record))


_DEFECTS = _Defects()
logging.getLogger("redial_broker.instance.defects").addHandler(_DEFECTS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """No test is green when the broker broke in it, unless it broke it on purpose."""
    _spark_can_write(item)
    _DEFECTS.found.clear()
    result = yield
    if _DEFECTS.found and item.get_closest_marker("breaks_the_broker") is None:
        pytest.fail("\n".join(_DEFECTS.found), pytrace=False)
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was run, at the end: where pytest is quiet it prints no header."""
    terminalreporter.write_line(_what_ran())


def _what_ran() -> str:
    known = Nights.read(ROOT / NIGHTLY).known
    if full():
        part = f", part {os.environ[PART]}" if PART in os.environ else ""
        turns = "all of it" if every_night() or not known else "a third of what the gate leaves out"
        return f"{FULL}=1: {turns}, and what is new{part}; {NIGHT}={os.environ.get(NIGHT)}"
    return (
        f"families marked `sampled` and crash points: every N-th; the others: invoke test --full\n"
        f"what no night has passed yet: {'has run' if known else f'not known, there is no {NIGHTLY}'}"
    )


class _Garbage:
    """Collects what tests leave between them, and walks what stays as seldom as can be.

    An installation makes a hundred thousand objects, and the caches hold a million: left to itself
    the collector took a third of the suite's time. So what a collection leaves is not looked at
    again (frozen) until the process has grown by GROWTH; then all of it is.

    Few objects at a time: they are still in the processor's cache when they are freed. Two million
    at once took two or three seconds of whichever test made the last, a third of tests/product/sql.
    """

    ENOUGH, AT_ONCE = 30_000, 10_000
    GROWTH = 1_000_000_000

    def __init__(self) -> None:
        self.size = 0

    def begin(self) -> None:
        """What is loaded now stays."""
        gc.freeze()
        gc.set_threshold(self.AT_ONCE, 10_000, 1_000)
        self.size = self.resident()

    def collect(self) -> None:
        """When enough was made, or the process has grown."""
        grown = self.resident() - self.size > self.GROWTH
        young, older, _ = gc.get_count()
        if not grown and young + older * self.AT_ONCE < self.ENOUGH:
            return
        if grown:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        if grown:
            self.size = self.resident()

    @staticmethod
    def resident() -> int:
        """Bytes this process has in memory; 0 where the system does not say."""
        try:
            return int(STATM.read_text().split()[1]) * PAGE
        except OSError:
            return 0


_GARBAGE = _Garbage()


def pytest_collection_finish() -> None:
    """Everything is imported."""
    _GARBAGE.begin()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what a sample does not take (tests/sampling.py) and what is for the night; it is always
    the same. What no night has passed yet, where that is known (evidence/nightly.txt), runs.

    Folders with Spark tests come first: --dist worksteal gives the head of the list to one process,
    so one JVM is started and warmed, and what the others take over is from the other end.
    """
    spark = {item.path.parent for item in items if "spark" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path.parent not in spark)
    nights = Nights.read(ROOT / NIGHTLY)
    if full():
        _take_turns(items, nights)  # of all: what a part has done changes no turn
    if part := Part.of_environment():
        _leave_out(config, items, {item for item in items if not part.has(item.nodeid)})
    if full():
        return
    left = _not_sampled(items)
    for item in items:
        if (nightly := item.get_closest_marker("nightly")) and not nights.new(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=f"{nightly.args[0]}: invoke test --full"))
    _leave_out(config, items, {item for item in left if not nights.new(item.nodeid)})


def _take_turns(items: list[pytest.Item], nights: Nights) -> None:
    """Of what the gate leaves out a third runs, and what no night has passed yet."""
    if every_night() or not nights.known:
        return
    left = set(_not_sampled(items))
    for item in items:
        waits = item in left or item.get_closest_marker("nightly")
        if waits and not has_turn(item.nodeid) and not nights.new(item.nodeid):
            item.add_marker(pytest.mark.skip(reason="another night's turn"))


def _not_sampled(items: list[pytest.Item]) -> list[pytest.Item]:
    """What a sample of its family does not take."""
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            families.setdefault(item.nodeid.split("[")[0], []).append(item)
    left: list[pytest.Item] = []
    for family in families.values():
        marker = family[0].get_closest_marker("sampled")
        arguments = [item.callspec.params if hasattr(item, "callspec") else {} for item in family]
        kept = sample(arguments, **marker.kwargs)
        left += [item for place, item in enumerate(family) if place not in kept]
    return left


def _leave_out(config: pytest.Config, items: list[pytest.Item], left: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef) -> Generator[None, Any, Any]:
    """What a fixture of many tests makes is not lent to others in between."""
    if fixturedef.scope == "function":
        return (yield)
    with installed.own():
        return (yield)


def pytest_runtest_logfinish() -> None:
    """A test is over, its fixtures too."""
    installed.take_back()
    _GARBAGE.collect()


SPARK = {
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "America/New_York",  # to see that no reading depends on it
    "spark.sql.streaming.stopTimeout": "1800s",
    "spark.log.level": "OFF",  # tests fail tasks on purpose
} | SMALL
"""Of the tests' Spark session, beside what every session of ours has."""


@pytest.fixture(scope="session")
def jars() -> dict[str, str]:
    """Path of each jar that can be had (of two, with a comma); else why not, which begins with a
    blank.

    A jar that Maven does not find costs many seconds: Spark's Avro is only looked for in the cache,
    and fetched with REDIAL_FULL. So is delta-spark, which makes each session slower.
    """
    import pyspark

    from redial.spark.jar import (
        JarMissing,
        avro_jar,
        jar_path,
        jdbc_jar,
        spark_avro,
        usable,
    )

    version = pyspark.__version__
    avro = spark_avro(version)
    here = full() or usable(jar_path(avro), avro)
    found = {"avro": f" {avro.coordinates} is not in the cache; REDIAL_FULL=1 fetches it"}
    found["delta-spark"] = " delta-spark makes a session slower: REDIAL_FULL=1"
    wanted = {"jdbc": jdbc_jar}
    if here:
        wanted["avro"] = lambda: avro_jar(version)
    if full():
        wanted["delta-spark"] = delta_spark.jars
    for name, have in wanted.items():
        try:
            found[name] = str(have())
        except JarMissing as error:
            found[name] = f" {error}"
    return found


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Generator[Any]:
    """One local Spark session for all tests of a process, two slots, tasks tried twice.

    Its workers are started without Spark's own Python path, whose head is a zip of sources: each
    process compiled them anew. Skips, with the reason, without Java or PySpark.
    """
    from redial.spark.errors import PipelineError
    from redial.spark.session import need_java_and_spark, spark_session

    try:
        need_java_and_spark()
    except PipelineError as error:
        pytest.skip(str(error))
    jars = request.getfixturevalue("jars")
    paths = [path for path in jars.values() if not path.startswith(" ")]
    python = request.getfixturevalue("tmp_path_factory").mktemp("python") / "python"
    python.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' \"$@\"\n")
    python.chmod(0o755)
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ[name] = str(python)
    by_delta = {} if jars["delta-spark"].startswith(" ") else delta_spark.SETTINGS
    session = spark_session(
        "redial-tests", jars=paths, master="local[2,2]", settings=SPARK | by_delta
    )
    yield session
    session.stop()


def _spark_can_write(item: pytest.Item) -> None:
    """A test with Spark can write, whatever the tests before it did.

    What forks in a thread of its own, as the searches for mutants do, hangs up the main thread's
    connection to the JVM, and the next one has no active session (F-454).
    """
    session = getattr(item, "funcargs", {}).get("spark")
    if session is not None:
        from redial.spark.session import use_here

        use_here(session)
