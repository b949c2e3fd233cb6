"""Values as Microsoft's pages print or describe them, in statements of our own."""

from datetime import datetime

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab():
    return Lab()


NAMED = '<o xmlns="urn:orders"><id>{}</id></o>'


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT dbo.t SELECT @x.value('(/o/id)[1]', 'int')",
        "INSERT dbo.t VALUES (@x.value('(/o/id)[1]', 'int'))",
        "INSERT dbo.t SELECT n.value('.', 'int') FROM @x.nodes('/o/id') AS d (n)",
        "UPDATE dbo.t SET a = @x.value('(/o/id)[1]', 'int')",
        "DELETE dbo.t WHERE a + 6 <> @x.value('(/o/id)[1]', 'int'); INSERT dbo.t VALUES (7)",
        "MERGE dbo.t USING (SELECT @x.value('(/o/id)[1]', 'int') AS v) AS s ON a = v "
        "WHEN NOT MATCHED THEN INSERT (a) VALUES (v);",
    ],
)
def test_namespaces_may_stand_before_every_change(lab, statement):
    """WITH XMLNAMESPACES page: of SELECT, INSERT, UPDATE, DELETE and MERGE."""
    lab.run("CREATE TABLE dbo.t (a int); INSERT dbo.t VALUES (1)")
    lab.run(
        f"DECLARE @x xml = N'{NAMED.format(7)}'; "
        f"WITH XMLNAMESPACES (DEFAULT 'urn:orders') {statement}"
    )
    assert 7 in [a for (a,) in lab.rows("SELECT a FROM dbo.t")]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ('N\'<?xml version="1.0" encoding="utf-8"?><a/>\'', 38),
        ('\'<?xml version="1.0" encoding="utf-16"?><a/>\'', 39),
    ],
)
def test_an_encoding_that_cannot_be_switched_to_is_told_at_the_declarations_end(lab, text, at):
    sink = lab.send(f"SELECT CAST({text} AS xml)")
    assert sink.errors[0].number == 9402 and f"character {at}," in sink.errors[0].text


@pytest.mark.parametrize(("seconds", "minute"), [("29.998", 35), ("29.999", 36), ("30", 36)])
def test_seconds_of_smalldatetime_are_rounded_by_way_of_datetime(lab, seconds, minute):
    """smalldatetime page: 29.998 seconds go down, 29.999 up."""
    text = f"2026-05-08 12:35:{seconds}"
    assert lab.value(f"SELECT CAST('{text}' AS smalldatetime)") == datetime(2026, 5, 8, 12, minute)


def test_an_offset_in_a_text_is_dropped_on_the_way_to_datetime2(lab):
    """date page, its examples; style 127 reads UTC."""
    text = "2026-05-08T12:35:29+12:15"
    assert lab.rows(
        f"SELECT CAST('{text}' AS datetime2(0)), CAST('{text}' AS date), "
        f"CONVERT(datetime2(0), '{text}', 127)"
    ) == [
        (
            datetime(2026, 5, 8, 12, 35, 29),
            datetime(2026, 5, 8).date(),
            datetime(2026, 5, 8, 0, 20, 29),
        )
    ]


def test_round_keeps_its_argument_s_precision(lab):
    """ROUND page: what does not fit the decimal is an overflow."""
    assert lab.error("SELECT ROUND(967.31, -3)") == 8115
    assert lab.value("SELECT ROUND(CAST(967.31 AS decimal(6, 2)), -3)") == 1000


def test_switchoffset_keeps_the_scale(lab):
    assert (
        lab.value(
            "SELECT CONVERT(varchar(40), "
            "SWITCHOFFSET(CAST('2026-05-08 12:00 +00:00' AS datetimeoffset(2)), '+01:00'))"
        )
        == "2026-05-08 13:00:00.00 +01:00"
    )
