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


@pytest.mark.parametrize(
    ("call", "values"),
    [("LAG(v, 2)", [None, None, 5, 5]), ("LEAD(v, 1)", [7, 7, None, None])],
)
def test_ignore_nulls_goes_on_from_where_the_offset_ends(lab, call, values):
    """Examples of the LAG and LEAD pages: first the offset, then past NULLs."""
    lab.run("CREATE TABLE dbo.s (k int, v int)")
    lab.run("INSERT dbo.s VALUES (1, 5), (2, NULL), (3, 7), (4, NULL)")
    found = lab.rows(f"SELECT {call} IGNORE NULLS OVER (ORDER BY k) FROM dbo.s ORDER BY k")
    assert [v for (v,) in found] == values


def test_a_text_s_digits_are_rounded_to_the_scale(lab):
    assert (
        lab.value("SELECT CONVERT(varchar(30), CAST('10:11:12.1234567' AS time(6)))")
        == "10:11:12.123457"
    )


def test_an_attribute_that_may_come_has_a_place_and_one_that_does_has_none(lab):
    """insert (XML DML) page: its example with a condition runs."""
    change = "DECLARE @x xml = '<b/>'; SET @x.modify('insert {} as first into (/b)[1]'); SELECT @x"
    assert lab.value(change.format('if (1 = 1) then attribute n {"3"} else ()')) == '<b n="3"/>'
    assert lab.error(change.format('attribute n {"3"}')) == 2258


def test_openxml_reads_upwards_from_an_attribute_and_no_white_space(lab):
    """OPENXML examples page: rows of attributes; text() is no white space."""
    lab.run(
        "DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, "
        'N\'<o no="4">\n <l sku="a" n="2">\n  <t/>late</l></o>\'; '
        "SELECT * FROM OPENXML(@h, '/o/l/@sku') WITH (s char(1) '.', n int '../@n', "
        "o int '../../@no') "
        "SELECT t FROM OPENXML(@h, '/o/l') WITH (t varchar(9) 'text()')"
    )
    first, second = lab.session.sink.result_sets
    assert (first.rows, second.rows) == ([("a", 2, 4)], [("late",)])


def test_a_named_overflow_keeps_its_attributes(lab):
    """XMLTEXT page: only what stands on the element itself hides attributes."""
    explicit = (
        "SELECT 1 AS Tag, NULL AS Parent, 'x' AS [p!1!id], '<z id=\"y\" n=\"1\">t</z>' AS "
        "[p!1!{}!xmltext] FOR XML EXPLICIT"
    )
    assert lab.value(explicit.format("more")) == '<p id="x"><more id="y" n="1">t</more></p>'
    assert lab.value(explicit.format("")) == '<p id="x" n="1">t</p>'


def test_the_first_result_of_dynamic_text_is_that_of_the_text(lab):
    lab.run("CREATE TABLE dbo.s (k int)")
    rows = lab.rows("EXEC sp_describe_first_result_set N'EXEC(N''SELECT k FROM dbo.s'')'")
    assert [row[2] for row in rows] == ["k"]


@pytest.mark.parametrize(
    "name", ["xp_sscanf 'a', '%s'", "msdb.dbo.sysmail_help_status_sp", "sp_add_maintenance_plan"]
)
def test_documented_procedures_are_refused_by_name(lab, name):
    assert "system procedure" in lab.refusal(f"EXEC {name}")


def test_into_of_a_set_operation_makes_the_table(lab):
    """SELECT - INTO clause page; INTO of a later query is 196."""
    lab.run("CREATE TABLE dbo.s (k int); INSERT dbo.s VALUES (1)")
    lab.run("SELECT k INTO dbo.n FROM dbo.s UNION ALL SELECT 2 UNION ALL SELECT 2")
    assert lab.rows("SELECT k FROM dbo.n ORDER BY k") == [(1,), (2,), (2,)]
    lab.run("WITH c AS (SELECT 3 AS k) SELECT k INTO dbo.m FROM c EXCEPT SELECT 2")
    assert lab.rows("SELECT k FROM dbo.m") == [(3,)]
    assert lab.error("SELECT k FROM dbo.s UNION SELECT 2 INTO dbo.o") == 196


def test_a_column_that_its_source_does_not_have_is_207(lab):
    lab.run("CREATE TABLE dbo.s (k int)")
    assert lab.error("SELECT s.nope FROM dbo.s") == 207
    assert lab.error("SELECT nobody.k FROM dbo.s") == 4104
    assert lab.error("UPDATE dbo.s SET k = 1 OUTPUT inserted.nope") == 207
    inner = "SELECT 1 FROM dbo.s AS o WHERE EXISTS (SELECT 1 FROM dbo.s AS i WHERE o.nope = 1)"
    assert lab.error(inner) == 207


@pytest.mark.parametrize(
    ("text", "place"), [("'%s %d', 16, 1, 'a', 'b'", 2), ("'%s', 16, 1, 5", 1)]
)
def test_a_substitution_of_another_type_names_its_place(lab, text, place):
    """RAISERROR page: the types of its specifications."""
    error = lab.send(f"RAISERROR({text})").errors[0]
    assert error.number == 2786 and f"parameter {place} " in error.text


def test_100_nanoseconds_make_another_key_and_another_group(lab):
    """datetime2 page: accuracy is 100 nanoseconds."""
    lab.run(
        "CREATE TABLE dbo.m (at datetime2 NOT NULL PRIMARY KEY, t time NULL UNIQUE); "
        "INSERT dbo.m VALUES ('2026-01-01 00:00:00.0000002', '10:00:00.0000002'), "
        "('2026-01-01 00:00:00.0000001', '10:00:00.0000001'), ('2026-01-01', NULL)"
    )
    assert lab.error("INSERT dbo.m VALUES ('2026-01-01 00:00:00.0000001', NULL)") == 2627
    assert lab.error("INSERT dbo.m VALUES ('2026-01-02', '10:00:00.0000002')") == 2627
    shown = "CONVERT(char(27), at, 121)"
    assert [text[-7:] for (text,) in lab.rows(f"SELECT {shown} FROM dbo.m ORDER BY at DESC")] == [
        "0000002",
        "0000001",
        "0000000",
    ]
    assert lab.value("SELECT COUNT(*) FROM dbo.m WHERE at > '2026-01-01 00:00:00.0000001'") == 1
    assert lab.rows("SELECT COUNT(*) FROM dbo.m GROUP BY at") == [(1,)] * 3


def test_100_nanoseconds_make_another_state():
    """Otherwise the explorer would take two states for one."""

    def state(digit: int) -> bytes:
        lab = Lab()
        lab.run(
            f"CREATE TABLE dbo.m (at datetime2); INSERT dbo.m VALUES ('2026-01-01 00:00:00.000000{digit}')"
        )
        return lab.table("m").rows.hash()

    assert state(1) == state(1) != state(2)


def test_json_and_xml_write_seven_digits(lab):
    lab.run(
        "CREATE TABLE dbo.m (at datetime2); INSERT dbo.m VALUES ('2026-01-01T00:00:00.1234567')"
    )
    assert lab.value("SELECT (SELECT at FROM dbo.m FOR JSON PATH)") == (
        '[{"at":"2026-01-01T00:00:00.1234567"}]'
    )
    assert lab.value("SELECT (SELECT at FROM dbo.m FOR XML RAW)") == (
        '<row at="2026-01-01T00:00:00.1234567"/>'
    )
    assert (
        lab.value(
            'SELECT COUNT(*) FROM OPENJSON(N\'{"at":"2026-01-01T00:00:00.1234567"}\') '
            "WITH (at datetime2) AS j JOIN dbo.m AS m ON m.at = j.at"
        )
        == 1
    )
    assert (
        lab.value(
            "DECLARE @x xml = (SELECT at FROM dbo.m FOR XML RAW); "
            "SELECT COUNT(*) FROM dbo.m WHERE at = @x.value('(/row/@at)[1]', 'datetime2')"
        )
        == 1
    )
