"""The wire as Microsoft's JDBC driver sees it, TLS on, against canned answers (Probe.java)."""

import shutil
import subprocess
from pathlib import Path

import pytest

from redial.spark.jar import JarMissing, jdbc_jar
from redial_broker import EmbeddedBroker
from redial_broker.tds.tls import tls_contexts
from tests.waiting import HANGS

from .fake import FakeInstance

pytestmark = pytest.mark.jvm

PROBE = Path(__file__).with_name("Probe.java")


def driver_jar() -> Path:
    """The driver, fetched once into the user's cache; skips the test where it cannot be had."""
    try:
        return jdbc_jar()
    except JarMissing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    java = shutil.which("java")
    if java is None:
        pytest.skip("no java on this machine")
    pem = tmp_path_factory.mktemp("jdbc") / "server.pem"
    pem.write_bytes(tls_contexts().pem)
    with EmbeddedBroker(instance=FakeInstance()) as broker:
        run = subprocess.run(
            [java, "-cp", str(driver_jar()), str(PROBE), broker.jdbc, str(pem)],
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
        assert broker.defects == []
        resets = broker.call(lambda instance: instance.resets)
    assert run.returncode == 0, run.stdout + run.stderr
    found = dict(line.rsplit("=", 1) for line in run.stdout.splitlines() if "=" in line)
    return found | {"resets": str(resets)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "16"),
        ("catalog", "master"),
        ("select", "1"),
        ("valid", "true"),
        ("nulls", "true"),
        ("prepared", "0v0 1v1 2v2 3v3"),
        ("batch", "[3, 3, 3, 3, 3]"),
        ("call", "done"),
        ("duplicate", "23000 2627"),
        ("deadlock", "40001 1205"),
        ("missing", "S0002 208"),
        ("print", "hello"),
        ("transactions", "done"),
        ("timeout", "SQLTimeoutException"),
        ("after timeout", "2"),
        ("rows", "20000"),
        ("pooled", "2"),
        ("resets", "1"),
        ("encrypt=false", "4"),
        ("encrypt=strict", "4"),
        ("wrong password", "18456"),
    ],
)
def test_the_driver_finds(findings, name, value):
    assert findings[name] == value


def test_every_type_arrives(findings):
    assert findings["7_decimal"] == "-123.4500000000"
    assert findings["10_uniqueidentifier"] == "12345678-9ABC-DEF0-1234-56789ABCDEF0"
    assert findings["26_xml"] == "<a>ü</a>"
    assert findings["23_datetime2"] == "2024-02-29 13:14:15.123456"
    assert findings["20_rowversion"] == "bytes 8"
