"""Index keys are at most 900 (clustered) or 1,700 bytes long (CREATE INDEX page)."""


def test_a_key_that_may_grow_too_long_is_made_with_a_warning_and_refused_when_it_does(run, session):
    made = run("CREATE TABLE dbo.T (a nvarchar(500) NOT NULL PRIMARY KEY, b varchar(2000) UNIQUE)")
    assert [m.number for m in made.messages] == [1945, 1945]
    run("INSERT dbo.T VALUES (REPLICATE(N'x', 450), REPLICATE('y', 1700))")
    error = session.execute("INSERT dbo.T VALUES (REPLICATE(N'x', 451), 'y')").error()
    assert error.number == 1946 and "length 902 bytes" in error.text
    assert "maximum length of 900 bytes for clustered indexes" in error.text
    update = session.execute("UPDATE dbo.T SET b = REPLICATE('z', 1701)").error()
    assert update.number == 1946 and "1700 bytes for nonclustered" in update.text
    assert run("SELECT COUNT(*) FROM dbo.T").rows() == [(1,)]


def test_a_key_that_is_always_too_long_is_not_made(run, error):
    assert error("CREATE TABLE dbo.T (a char(901) NOT NULL PRIMARY KEY)") == 1944
    run("CREATE TABLE dbo.T (a nvarchar(1000)); INSERT dbo.T VALUES (REPLICATE(N'x', 900))")
    assert error("CREATE INDEX I ON dbo.T (a)") == 1946
