"""docs/start: the T-SQL of each page runs as it stands, on a fresh installation of audit."""

from __future__ import annotations

import re

import pytest

from redial.paths import ROOT
from tests.product.sql.lab import SHIPPED, Client, Lab

START = ROOT / "docs" / "start"
PAGES = sorted(path.name for path in START.glob("*.md") if "```sql" in path.read_text("utf-8"))


def blocks(name: str) -> list[str]:
    """Each batch of each block."""
    text = (START / name).read_text("utf-8")
    return [
        batch
        for block in re.findall(r"```sql\n(.*?)```", text, re.S)
        for batch in re.split(r"^GO$", block, flags=re.M)
    ]


@pytest.mark.parametrize("name", PAGES)
def test_the_sql_of_the_page_runs(name):
    lab = Lab(SHIPPED)
    found = blocks(name)
    assert found
    for sql in found:
        client = Client(lab)
        client.submit(sql)
        lab.advance(70)
        assert client.out.finished and not client.errors, (sql, client.errors)


def test_what_the_developers_page_sends_lands():
    lab = Lab(SHIPPED)
    for sql in blocks("developer.md"):
        Client(lab).execute(sql)
    lab.advance(5)
    landed = lab.rows("SELECT Body FROM audit.Landing WHERE MessageType LIKE N'%event';")
    assert sorted(body for (body,) in landed) == [b'{"order":7}', b"{}", b"{}"]
