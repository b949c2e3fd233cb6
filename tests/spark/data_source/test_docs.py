"""docs/spark.md: its options and columns are the code's, and its Python runs."""

from __future__ import annotations

import json
import re

import pytest

from redial.paths import ROOT
from redial.spark.columns import COLUMNS
from redial.spark.parsing import EVERY, USES, described

PAGE = ROOT / "docs" / "spark.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.S)


def table() -> str:
    """The table of options, as the models have it."""
    lines = []
    seen: set[str] = set()
    for model in EVERY:
        for field_name, field in model.model_fields.items():
            name = field.alias or field_name
            uses = [USES[m] for m in EVERY if name in described(m)]
            if name in seen:
                continue
            seen.add(name)
            of = "all" if len(uses) == len(EVERY) else ", ".join(uses)
            default = "required" if field.is_required() else field.default
            default = "none" if default is None else default
            default = str(default).lower() if isinstance(default, bool) else default
            lines.append(f"| {name} | {of} | {default} | {field.description} |\n")
    return "".join(lines)


def test_the_options_are_all_there():
    assert table() in TEXT, f"docs/spark.md should have:\n{table()}"


def test_the_columns_are_all_there():
    rows = "".join(f"| {name} | {kind} | {said} |\n" for name, kind, said in COLUMNS)
    assert rows in TEXT


@pytest.mark.driver
@pytest.mark.jvm
@pytest.mark.usefixtures("jdbc")
def test_the_python_of_the_page_runs_and_does_what_the_page_says(spark, lab, tmp_path, monkeypatch):
    """As typed from its beginning, with the session and the broker of the tests."""
    sa = lab.options()
    monkeypatch.setenv(
        "REDIAL_SERVER",
        f"Server=127.0.0.1,{lab.broker.port};UID=sa;PWD={{{sa['password']}}};"
        "TrustServerCertificate=yes",
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text(json.dumps({"body": '{"id": 8}'}))
    since = lab.mark()
    lab.land(b'{"id": 1}')
    names: dict = {}
    try:
        for block in BLOCKS:
            here = block.replace("127.0.0.1:1433", sa["server"])
            exec(compile(here, str(PAGE), "exec"), names)
    finally:
        spark.streams.removeListener(names["behind"])
    found = sorted(
        json.loads(body)["id"] for body in lab.landed(since, 3 + 1 + 100 + 4 + 1 + 10 + 1)
    )
    assert found == sorted([401, 402, 403, 1, *range(100), 200, 201, 300, 301, 8, *range(10), 7])
    assert names["code"] == 0
    ((acknowledged,),) = lab.rows(
        "SELECT UpTo FROM audit.LandingAcknowledged WHERE Reader = N'lake';"
    )
    assert acknowledged is not None
    assert lab.ledger("orders of 2026-11-21")
    below = f"RowVersion < 0x{names['mark']:016X}"
    assert names["by_jdbc"].count() == lab.value(f"COUNT(*) FROM audit.Landing WHERE {below}")
    # Other tests' bodies are there too, and no JSON.
    assert 1 in {row.event and row.event.id for row in names["events"].collect()}
