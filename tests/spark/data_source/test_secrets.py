"""No secret is in what Spark keeps or shows: plans, event log, REST, logs, progress, errors.

Spark hides a value by the name of its option, so a secret may stand in an option of its own, whatever
the way: SQL, DataFrame, stream, writer. What it keeps all the same is told in docs/spark.md, Secrets,
and tried here: whatever stands in a text (odbc), and over Spark Connect every option.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from redial.paths import SOURCES
from tests.waiting import HANGS

from .conftest import ROOT
from .lab import missing

pytestmark = [pytest.mark.driver, pytest.mark.jvm]

LOG4J = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/driver.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n%ex
"""
WRONG, TOKEN, REFUSED, KEPT = "Wr0ng-Passw0rd", "T0ken-of-Entra", "0dbc-of-Frame", "0dbc-of-SQL"
KEEPING = re.compile(r"(?m)^spark\.sql\.redaction\.string\.regex (.+)$")
"""The setting of docs/spark.md."""
SILENT = re.compile(r"(?m)^(logger\.connect\.name = (.+)\n.+)$")
"""And its two lines for the log of a Connect server."""


def run(
    folder: Path, steps: list, environment: dict[str, str], log: str = "", **settings: str
) -> dict[str, str]:
    """What the job's steps said, and all that is in its folder, by name."""
    if why := missing():
        pytest.skip(why)
    (folder / "events").mkdir(parents=True)
    (folder / "log4j2.properties").write_text(LOG4J.format(folder=folder) + log)
    given = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={folder}/log4j2.properties",
    } | settings
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    path = os.pathsep.join((str(SOURCES), ROOT))
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.data_source.secret_job"],
        input=json.dumps({"folder": str(folder), "settings": given, "steps": steps}),
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | python | {"PYTHONPATH": path} | environment,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said: dict[str, str] = json.loads((folder / "said.json").read_text())
    found = {
        str(file.relative_to(folder)): file.read_bytes().decode("latin-1")
        for file in folder.rglob("*")
        if file.is_file()
    }
    return said | found | {"standard output": done.stdout, "standard error": done.stderr}


def places(texts: dict[str, str], secret: str) -> list[str]:
    """Where a secret is found, as it is or in UTF-16."""
    return [n for n, t in texts.items() if secret in t or secret in t.replace("\0", "")]


def joined(texts: dict[str, str], start: str) -> str:
    return "".join(text for name, text in texts.items() if name.startswith(start))


@pytest.mark.nightly("sessions with JVMs of their own")
def test_no_secret_is_in_what_spark_keeps_or_shows(lab, tmp_path):
    right = lab.options()["password"]
    odbc = {"odbc": f"Server=db;UID=sa;PWD={REFUSED}"}
    where = {name: lab.options()[name] for name in ("server", "database", "trustServerCertificate")}
    dest = {n: v for n, v in lab.sending().items() if n not in lab.options()} | {"schema": "audit"}
    token = where | {"accessToken": TOKEN}
    from_env = {k: v for k, v in lab.options().items() if k != "password"}
    steps = [
        *[(way, lab.options()) for way in ("sql", "frame", "stream")],
        *[(way, lab.sending()) for way in ("write", "write_stream")],
        *[(way, lab.options(password=WRONG)) for way in ("sql", "stream")],
        ("write", lab.sending(password=WRONG)),
        ("sql", token | {"schema": "audit"}),
        ("write", token | dest),
        *[(way, odbc | {"schema": "audit"}) for way in ("frame", "stream")],
        *[(way, odbc | dest) for way in ("write", "write_stream")],
        ("sql", from_env | {"passwordFrom": "env:OF_THE_LAB"}),
        ("sql", {"odbc": odbc["odbc"].replace(REFUSED, KEPT), "schema": "audit"}),
    ]
    texts = run(
        tmp_path,
        steps,
        {"OF_THE_LAB": right},
        **{"spark.master": "local[2]", "spark.ui.port": "0"},
    )
    ends = ["ERROR" in joined(texts, f"{n} {way}") for n, (way, _) in enumerate(steps)]
    assert ends == 5 * [False] + 9 * [True] + [False, True]
    for n in (5, 6, 7):
        assert "Login failed" in joined(texts, f"{n} ")
    # It was looked at: the plan is there, with stars, and the log is not empty.
    for text in (joined(texts, "events"), joined(texts, "REST sql")):
        assert "CreateTempViewUsing" in text and "password -> *********(redacted)" in text
    assert "INFO org.apache.spark.SparkContext" in texts["driver.log"]

    for secret in (right, WRONG, TOKEN, REFUSED):
        assert places(texts, secret) == []
    # Spark writes the plan down before it asks the source: too late, and so the error says.
    assert {name.split("/")[0] for name in places(texts, KEPT)} >= {"events", "REST sql"}
    assert "allowed: option password" in texts["15 sql"] and "change that secret" in texts["15 sql"]


@pytest.mark.nightly("Spark Connect needs a server of its own")
@pytest.mark.parametrize("hiding", [False, True], ids=["by itself", "with the setting"])
def test_spark_connect_keeps_every_option_but_not_what_is_elsewhere(lab, tmp_path, hiding):
    """Unless it is told what to hide: the setting is the page's."""
    page = (Path(ROOT) / "docs" / "spark.md").read_text(encoding="utf-8")
    (setting,), ((lines, logger),) = KEEPING.findall(page), SILENT.findall(page)
    right = lab.options()["password"]
    elsewhere = {k: v for k, v in lab.options().items() if k != "password"}
    elsewhere |= {"passwordFrom": "env:OF_THE_LAB"}
    steps = [(way, elsewhere) for way in ("sql", "frame", "stream")]
    if hiding:
        steps += [(way, lab.options()) for way in ("sql", "frame", "stream")]
        steps += [("write", lab.sending())]
    settings = {"spark.sql.redaction.string.regex": setting} if hiding else {}
    # SPARK_TESTING: a free port for its server, instead of one that may be in use.
    environment = {"OF_THE_LAB": right, "SPARK_TESTING": "1"}
    remote = {"spark.remote": "local[2]"}
    log = lines if hiding else ""
    texts = run(tmp_path / "first", steps, environment, log, **remote, **settings)
    assert not [name for name, text in texts.items() if "ERROR" in text and name[0].isdigit()]
    assert "SparkListenerConnectOperationStarted" in joined(texts, "events")
    assert places(texts, right) == []
    # It prints the plan of what was not let go when its session ends: how slow the machine is decides.
    assert (f"INFO {logger}:" in texts["driver.log"]) != hiding
    if not hiding:
        kept = run(tmp_path / "second", [("frame", lab.options())], environment, **remote)
        assert {name.split("/")[0] for name in places(kept, right)} - {"driver.log"} == {"events"}
