"""A lock of a key is named by the values of its row, also when the row is deleted."""

from __future__ import annotations

import pytest

from redial_lab.explore.held_locks import held_by
from tests.lab.explore.tables import database

GUID = "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9"
OTHER = GUID.replace("0A", "0B")
CAME = f"INSERT dbo.T VALUES ('{OTHER}', N'Rot', NULL);"
TABLE = f"""
CREATE TABLE dbo.T (
    Id uniqueidentifier NOT NULL CONSTRAINT PK PRIMARY KEY, Name nvarchar(20) NULL, N int NULL
);
CREATE INDEX IX ON dbo.T (Name DESC);
CREATE INDEX I2 ON dbo.T (N);
INSERT dbo.T VALUES ('{GUID}', N'Grün', 7), (NEWID(), NULL, NULL);
"""


def held(text: str) -> str:
    """What a session holds after a text."""
    session = database(TABLE).connect("d")
    session.execute(f"BEGIN TRANSACTION; {text}").ok()
    return str(held_by(session, {}))


@pytest.mark.parametrize(
    "text",
    [
        f"UPDATE dbo.T SET N = 8 WHERE Id = '{GUID}';",
        f"DELETE dbo.T WHERE Id = '{GUID}';",
        f"DELETE dbo.T WHERE Id = '{GUID}'; SELECT N FROM dbo.T WITH (SERIALIZABLE, INDEX (PK)) "
        f"WHERE Id = '{GUID}';",
    ],
    ids=["changed", "deleted", "deleted and looked for"],
)
def test_a_key_is_named_by_its_values(text):
    assert f"T.PK ({GUID})" in held(text)


def test_every_index_of_a_deleted_row_is_named_by_its_columns():
    found = held(f"DELETE dbo.T WHERE Id = '{GUID}';")
    assert "T.IX (Grün)" in found and "T.I2 (7)" in found


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{CAME} DELETE dbo.T WHERE Id = '{OTHER}';", f"T.PK ({OTHER})"),
        (f"{CAME} DELETE dbo.T WHERE Id = '{OTHER}';", "T.I2 (NULL)"),
        ("SELECT N FROM dbo.T WITH (UPDLOCK, HOLDLOCK, INDEX (I2)) WHERE N = 5;", "T.I2 (7)"),
        ("SELECT N FROM dbo.T WITH (UPDLOCK, HOLDLOCK, INDEX (I2)) WHERE N = 9;", "T.I2 (the end)"),
    ],
    ids=["came and went", "its NULL", "before a key", "behind the last"],
)
def test_a_key_without_a_row_is_what_the_key_says(text, named):
    """Nothing stands there, and nothing did."""
    assert named in held(f"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; {text}")
