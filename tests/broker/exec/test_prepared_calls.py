"""EXEC uses what its last call found only while that still holds (``exec.binding``)."""

from .lab import Lab

CALLER = (
    "CREATE PROCEDURE dbo.Outer_ @how nvarchar(10) AS "
    "DECLARE @i int = 0, @found nvarchar(10), @all nvarchar(60) = N''; "
    "WHILE @i < 3 BEGIN "
    "EXECUTE dbo.Inner_ @text = @how, @out = @found OUTPUT; "
    "SET @all = @all + @found + N' '; SET @i = @i + 1; "
    "IF @i = 2 EXECUTE (N'ALTER PROCEDURE dbo.Inner_ @text nvarchar(2), "
    "@more nvarchar(5) = N''new'', @out nvarchar(10) OUTPUT AS SET @out = @text + @more;'); "
    "END; SELECT @all;"
)
INNER = (
    "CREATE PROCEDURE dbo.Inner_ @text nvarchar(4), @out nvarchar(10) OUTPUT AS SET @out = @text;"
)


def test_a_procedure_that_changes_between_two_calls_is_called_as_it_is_now():
    lab = Lab()
    lab.run(INNER)
    lab.run(CALLER)
    assert lab.rows("EXECUTE dbo.Outer_ N'abcdefgh';") == [("abcd abcd abnew ",)]


def test_a_right_that_is_taken_away_between_two_calls_is_missed():
    lab = Lab()
    lab.run(INNER)
    lab.run("CREATE USER Poor WITHOUT LOGIN;")
    lab.run("GRANT EXECUTE ON dbo.Inner_ TO Poor;")
    call = (
        "DECLARE @i int = 0, @o nvarchar(10); EXECUTE AS USER = N'Poor'; WHILE @i < 2 BEGIN "
        "EXECUTE dbo.Inner_ N'x', @o OUTPUT; SET @i = @i + 1; REVERT; "
        "REVOKE EXECUTE ON dbo.Inner_ TO Poor; EXECUTE AS USER = N'Poor'; END;"
    )
    assert lab.error(call) == 229


def test_arguments_are_cut_and_converted_at_every_call():
    lab = Lab()
    lab.run(INNER)
    assert lab.rows(
        "DECLARE @i int = 0, @o char(3), @all varchar(20) = ''; WHILE @i < 2 BEGIN "
        "EXECUTE dbo.Inner_ 'wxyzq', @o OUTPUT; SET @all = @all + @o; SET @i = @i + 1; END; "
        "SELECT @all;"
    ) == [("wxywxy",)]
