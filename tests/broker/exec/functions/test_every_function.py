"""Functions that a table of calls and answers is test enough for; and that each has a test."""

from __future__ import annotations

import math
import re

import pytest

from redial.paths import ROOT
from redial_broker.exec.functions import FUNCTIONS
from redial_broker.exec.functions.dates import CLOCK
from redial_broker.instance.instance import Instance
from tests.broker.exec.lab import Lab

FOLDER = ROOT / "tests" / "broker"
KEY = "ASYMKEY_ID(N'k'), "


@pytest.fixture(scope="module")
def session():
    instance = Instance(seed=1)
    instance.connect().execute("CREATE DATABASE d;").ok()
    made = instance.connect("d")
    for sql in (
        "CREATE TABLE dbo.t (id int IDENTITY(5, 2) CONSTRAINT PK_t PRIMARY KEY, n int);",
        "CREATE ASYMMETRIC KEY k WITH ALGORITHM = RSA_2048 ENCRYPTION BY PASSWORD = 'Pa55word!';",
    ):
        made.execute(sql).ok()
    return made


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("ATAN(1)", math.pi / 4),
        ("SIN(0)", 0.0),
        ("COS(0)", 1.0),
        ("TAN(0)", 0.0),
        ("EXP(0)", 1.0),
        ("DEGREES(PI())", 180.0),
        ("RADIANS(180e0)", math.pi),
        ("CURRENT_REQUEST_ID()", 0),
        ("CURRENT_TIMEZONE()", "(UTC) Coordinated Universal Time"),
        ("CURRENT_TIMEZONE_ID()", "UTC"),
        ("ORIGINAL_DB_NAME()", "master"),
        ("HAS_DBACCESS(N'd')", 1),
        ("HAS_DBACCESS(N'none')", None),
        ("SUSER_NAME()", "sa"),
        ("SUSER_NAME(1)", "sa"),
        ("SUSER_SID()", b"\x01"),
        ("SUSER_SID(N'none')", None),
        ("IS_ROLEMEMBER(N'db_owner')", 1),
        ("IS_ROLEMEMBER(N'none')", None),
        ("IDENT_SEED(N'dbo.t')", 5),
        ("IDENT_INCR(N'dbo.t')", 2),
        ("INDEX_COL(N'dbo.t', 1, 1)", "id"),
        ("INDEX_COL(N'dbo.t', 1, 2)", None),
        ("INDEXKEY_PROPERTY(OBJECT_ID(N'dbo.t'), 1, 1, N'ColumnId')", 1),
        ("INDEXKEY_PROPERTY(OBJECT_ID(N'dbo.t'), 1, 1, N'IsDescending')", 0),
        ("OBJECTPROPERTYEX(OBJECT_ID(N'dbo.t'), N'IsTable')", 1),
        ("FILEPROPERTY(N'none', N'SpaceUsed')", None),
        ("ASSEMBLYPROPERTY(N'none', N'CultureInfo')", None),
        ("ASYMKEY_ID(N'none')", None),
        ("ERROR_SEVERITY()", None),
        ("ERROR_STATE()", None),
        (
            f"DECRYPTBYASYMKEY({KEY}ENCRYPTBYASYMKEY({KEY}0x6162), N'Pa55word!')",
            b"ab",
        ),
        (f"VERIFYSIGNEDBYASYMKEY({KEY}0x61, SIGNBYASYMKEY({KEY}0x61, N'Pa55word!'))", 1),
        (f"VERIFYSIGNEDBYASYMKEY({KEY}0x62, SIGNBYASYMKEY({KEY}0x61, N'Pa55word!'))", 0),
    ],
)
def test_it_answers(session, call, answer):
    assert session.execute(f"SELECT {call};").rows() == [(answer,)]


def test_a_catch_block_sees_the_severity_and_the_state(session):
    caught = session.execute(
        "BEGIN TRY RAISERROR(N'x', 14, 7) END TRY "
        "BEGIN CATCH SELECT ERROR_SEVERITY(), ERROR_STATE() END CATCH;"
    )
    assert caught.rows() == [(14, 7)]


def test_every_function_is_called_in_a_test():
    texts = "\n".join(path.read_text("utf-8") for path in FOLDER.rglob("*.py")).upper()
    words = set(re.findall(r"\w+", texts))
    assert "LEN" in FUNCTIONS
    assert {name for name in FUNCTIONS if name.isidentifier() and name not in words} == set()


def test_a_function_without_arguments_moves_with_the_clock_where_it_is_known_to_tell_the_time():
    """A search takes a reading of it for a step where time may pass; the rest go by other things."""
    bare = {"CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER"}
    labs = [Lab(), Lab()]
    labs[1].instance.clock.advance(3600)
    moved = set()
    for name, (least, _, _) in FUNCTIONS.items():
        if least == 0:
            text = f"SELECT {name if name in bare else name + '()'};"
            told = [lab.send(text) for lab in labs]
            assert [bool(one.errors) for one in told] in ([False] * 2, [True] * 2), name
            if not told[0].errors and told[0].rows() != told[1].rows():
                moved.add(name)
    assert moved == CLOCK
