"""What a server takes, and was refused or broke the broker."""

import pytest

from tests.broker.exec.lab import Lab

SETUP = (
    "CREATE QUEUE q; CREATE SERVICE s ON QUEUE q ([DEFAULT]); CREATE TABLE t (a int); "
    "EXEC(N'CREATE PROCEDURE p AS RETURN 0')"
)


@pytest.fixture
def lab():
    made = Lab()
    made.run(SETUP)
    return made


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "SELECT a FROM t",
        "SELECT x.a FROM t AS x JOIN t ON 1 = 1",
        "SELECT a FROM t WHERE a = 1",
        "IF 1 = 1 SELECT 1",
        "EXEC p",
        "BEGIN TRANSACTION",
        "UPDATE t SET a = 1",
        "PRINT 'x'",
    ],
)
def test_a_label_ends_a_statement_without_a_semicolon(lab, statement):
    lab.run(f"{statement}\ndone: IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")


@pytest.mark.parametrize(
    "options",
    [
        "RELATED_CONVERSATION_GROUP = @g LIFETIME = 600 ENCRYPTION = OFF",
        "LIFETIME = 600 ENCRYPTION = OFF",
        "ENCRYPTION = OFF, LIFETIME = 600",
    ],
)
def test_options_of_a_dialog_need_no_comma(lab, options):
    """Published scripts leave it out, and a server takes them."""
    lab.run(
        "DECLARE @h uniqueidentifier, @g uniqueidentifier = NEWID(); "
        f"BEGIN DIALOG @h FROM SERVICE s TO SERVICE 's' WITH {options}"
    )


@pytest.mark.parametrize("of", ["datetime", "smalldatetime", "date", "datetime2"])
def test_four_digits_are_a_year(lab, of):
    """The date and datetime pages, Unseparated string formats."""
    assert lab.value(f"SELECT CONVERT(char(8), CAST('2020' AS {of}), 112)") == "20200101"


def test_minutes_of_an_offset_may_have_one_digit(lab):
    text = "CAST('2020-01-01T00:00:00+10:0' AS datetimeoffset(0))"
    assert lab.value(f"SELECT CONVERT(varchar(30), {text}, 126)") == "2020-01-01T00:00:00+10:00"


def test_functions_without_an_alias_may_stand_in_from_twice(lab):
    assert lab.rows("SELECT 1 FROM OPENJSON('[1]'), OPENJSON('[2]')") == [(1,)]
    assert lab.rows("SELECT * FROM STRING_SPLIT('a', ',') CROSS JOIN STRING_SPLIT('b', ',')") == [
        ("a", "b")
    ]


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT DATETRUNC(week, CAST('0001-01-01' AS date))", 9837),
        ("KILL 'D5499C66-E398-45CA-BF7E-DC9C194B48CF'", 6110),
        ("KILL 'x'", 60001),
    ],
)
def test_what_cannot_be_has_an_error_of_its_own(lab, sql, number):
    assert lab.error(sql) == number


@pytest.mark.parametrize("handle", ["0x00", "NULL", "1", "0x0102"])
def test_a_handle_of_nothing_has_no_text(lab, handle):
    assert lab.rows(f"SELECT * FROM sys.dm_exec_sql_text({handle})") == []


@pytest.mark.parametrize(
    ("dates", "warnings"),
    [
        ("EXPIRY_DATE = '2001-01-01'", [15213, 15214]),
        ("START_DATE = '2000-01-01', EXPIRY_DATE = '2001-01-01'", [15214]),
        ("START_DATE = '2040-01-01', EXPIRY_DATE = '2041-01-01'", [15215]),
        ("START_DATE = '2000-01-01', EXPIRY_DATE = '2049-01-01'", []),
    ],
)
def test_a_certificate_of_odd_dates_is_made_with_a_warning(lab, dates, warnings):
    made = lab.send(
        "CREATE CERTIFICATE c ENCRYPTION BY PASSWORD = 'Passw0rd!' WITH SUBJECT = 'x', " + dates
    )
    assert not made.errors and [note.number for note in made.infos] == warnings
    found = lab.value("SELECT CONVERT(char(8), expiry_date, 112) FROM sys.certificates")
    assert dates.rsplit("'", 2)[1].replace("-", "") == found
