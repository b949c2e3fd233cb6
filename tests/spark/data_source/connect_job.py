"""What a test runs in a process of its own, whose SPARK_REMOTE names a Connect server: the landing
job and the audit, as their commands run them. Prints what each said of itself, as JSON."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pyodbc

from redial.spark import audit, land
from redial.spark.errors import PipelineError, status_of
from redial.spark.session import spark_session
from tests.sampling import SMALL

NEW = """
INSERT INTO orders.Landing (ConversationHandle, MessageSequence, MessageType)
VALUES (NEWID(), 0, N'http://schemas.microsoft.com/SQL/ServiceBroker/Error');"""
GONE = "DELETE FROM orders.Landing WHERE ConversationKey = N'red' AND KeySequence IN (3, 4);"

SLOW = "Timed out while waiting for the Python worker to connect back"
"""docs/spark.md, Ten seconds: start it again."""
STARTS = 10
"""Of one landing, at most: a server that never has a process in time is a defect."""


def main(server: str, folder: Path) -> dict:
    """Land to both kinds of table, land what is new, audit: whole, then with two rows gone."""
    sa = pyodbc.connect(server, autocommit=True)
    at = ["--server", server, "--schema", "orders"]
    tables = {kind: str(folder / kind) for kind in ("parquet", "delta")}
    said: dict = {"session": type(spark_session("jobs", settings=SMALL)).__module__, "landed": []}

    def landing(kind: str, *more: str) -> str:
        for left in reversed(range(STARTS)):  # a busy machine takes longer than the ten seconds
            try:
                with redirect_stdout(StringIO()) as text:
                    assert land.main([*at, "--to", tables[kind], "--kind", kind, *more]) == 0
                return text.getvalue().splitlines()[-1]
            except PipelineError as error:
                if SLOW not in str(error) or not left:
                    raise

    def verdict(*more: str) -> tuple[int, dict]:
        file = folder / "audit.json"
        status = audit.main([*at, "--json", str(file), *more])
        return status, json.loads(file.read_text(encoding="utf-8"))

    for kind in tables:
        said["landed"].append(landing(kind, "--max-rows", "10"))
    sa.execute(NEW)
    for kind in tables:
        said["landed"].append(landing(kind))
    said["audits"] = [verdict("--landed", tables["delta"], "--settled", "--exact")]
    sa.execute(GONE)
    said["audits"].append(verdict())
    said["absent"] = status_of(lambda: audit.main(["--landed", str(folder / "absent")]))
    try:
        landing("parquet", "--checkpoint", str(folder / "another"), "--reader", "")
    except PipelineError as error:
        said["refused"] = str(error)
    return said


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
