"""Microsoft's JDBC driver against the real instance: batches, calls, transactions, cancels."""

import shutil
import subprocess
from pathlib import Path

import pytest

from redial_broker import EmbeddedBroker
from tests.waiting import HANGS

from .ended import left_behind
from .test_jdbc import driver_jar

pytestmark = pytest.mark.jvm

PROGRAM = Path(__file__).with_name("Instance.java")


@pytest.fixture(scope="module")
def findings():
    java = shutil.which("java")
    if java is None:
        pytest.skip("no java on this machine")
    with EmbeddedBroker() as broker:
        run = subprocess.run(
            [java, "-cp", str(driver_jar()), str(PROGRAM), broker.jdbc],
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
        assert broker.defects == []
        left = left_behind(broker)
    assert run.returncode == 0, run.stdout + run.stderr
    found = dict(line.rsplit("=", 1) for line in run.stdout.splitlines() if "=" in line)
    return found | {"left behind": left}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch", "500"),
        ("count", "428"),
        ("row 1", "Grüße 1/20"),
        ("row 499", "Grüße 499/9980"),
        ("call", "7/42"),
        ("after savepoint", "one/Grüße 2/500"),
        ("trancount", "0"),
        ("error 2627", "23000"),
        ("error 208", "S0002"),
        ("error 8134", "S0001"),
        ("error 50001", "S0003"),
        ("timeout", "SQLTimeoutException"),
        ("usable", "5"),
        ("table", "t"),
        ("key", "id"),
        ("columns", "id v b"),
        ("left behind", (0, 0)),
    ],
)
def test_the_driver_finds(findings, name, value):
    assert findings[name] == value
