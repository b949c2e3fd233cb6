"""Runs a driver's probe against a broker of its own and collects what it reports.

A report is made once per test run, whichever worker needs it first; it holds one entry per
capability and one named "end" about what the driver left behind.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from redial.paths import ROOT
from redial.spark.jar import JarMissing, jdbc_jar
from redial_broker.tds.process import BrokerProcess
from tests.waiting import HANGS, LOGIN

from . import stage

HERE = Path(__file__).parent
FREETDS = next(iter(Path("/usr/lib").glob("*/odbc/libtdsodbc.so")), Path("libtdsodbc.so"))


class Missing(Exception):
    """The driver cannot run on this machine; the text says what it lacks."""


def _python(module: str, *needs: str) -> Callable[[Path], list[str]]:
    def command(_: Path) -> list[str]:
        for need in needs:
            if importlib.util.find_spec(need) is None:
                raise Missing(f"Python package {need} is not installed")
        return [sys.executable, "-m", f"tests.broker.drivers.probes.{module}"]

    return command


def _freetds(folder: Path) -> list[str]:
    if not FREETDS.exists():
        raise Missing("FreeTDS's ODBC driver (package tdsodbc) is not installed")
    return _python("odbc", "pyodbc")(folder)


def _jdbc(_: Path) -> list[str]:
    java = shutil.which("java")
    if java is None:
        raise Missing("no java on this machine")
    try:
        jar = jdbc_jar()
    except JarMissing as error:
        raise Missing(str(error)) from None
    return [java, "-cp", str(jar), str(HERE / "java" / "Matrix.java")]


def _tedious(_: Path) -> list[str]:
    from .node import find_packages

    node, folder, problem = find_packages()
    if problem:
        raise Missing(problem)
    return ["env", f"NODE_PATH={folder}", node, str(HERE / "node" / "matrix.js")]


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "odbc": _python("odbc", "pyodbc", "mssql_python_odbc"),
    "freetds": _freetds,
    "pymssql": _python("pymssql", "pymssql"),
    "pytds": _python("pytds", "pytds", "OpenSSL"),
    "jdbc": _jdbc,
    "tedious": _tedious,
    "sqlalchemy+pyodbc": _python("alchemy", "sqlalchemy", "pyodbc"),
    "sqlalchemy+pymssql": _python("alchemy", "sqlalchemy", "pymssql"),
}


def prepare(broker: BrokerProcess) -> Any:
    """Make the databases; returns the connection."""
    import pyodbc

    connection = pyodbc.connect(broker.odbc, autocommit=True, timeout=LOGIN)
    for statement in stage.statements():
        connection.execute(statement)
    return connection


def report(driver: str, folder: Path, large: int = stage.LARGE) -> dict[str, Any]:
    """Capability -> what the probe saw. Raises Missing when the driver cannot be run here.

    large: bytes of a large value.
    """
    command = COMMANDS[driver](folder)
    pem = folder / f"{driver}.pem"
    with BrokerProcess() as broker:
        # Its own: another process may just have put another one into the user's cache.
        pem.write_text(ssl.get_server_certificate(("127.0.0.1", broker.port)), "ascii")
        connection = prepare(broker)
        given = {
            "driver": driver,
            "odbc": broker.odbc,
            "jdbc": broker.jdbc,
            "port": broker.port,
            "user": broker.user,
            "password": broker.password,
            "pem": str(pem),
            "freetds": str(FREETDS),
            "large": large,
            "types": [[type_, literal] for type_, literal, _ in stage.TYPES],
        }
        said, error = _run(command, given)
        found = {line["capability"]: line for line in said}
        found["end"] = _left(connection) | {"error": error[-2000:]}
        connection.close()
    return found


def _run(command: list[str], given: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    process = subprocess.Popen(
        [*command, json.dumps(given)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        output, error = process.communicate(timeout=HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        output, error = process.communicate()
        error += f"\nkilled after {HANGS} s"
    lines = [json.loads(line) for line in output.splitlines() if line.startswith('{"capability"')]
    if process.returncode:
        error += f"\nexit code {process.returncode}"
    return lines, error


def _left(connection: Any) -> dict[str, Any]:
    """What the driver left in the broker: sessions other than ours, and locks.

    Asked a few times: the broker may hear this question before the end of another connection.
    """
    for _ in range(100):
        sessions = connection.execute(
            "SELECT COUNT(*) FROM sys.dm_exec_sessions"
            " WHERE session_id > 50 AND session_id <> @@SPID"
        ).fetchval()
        locks = connection.execute(
            "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_session_id <> @@SPID"
        ).fetchval()
        if not sessions and not locks:
            break
    return {"sessions": sessions, "locks": locks}
