"""Table variables: outside transactions, inside statements all or nothing."""


def test_they_have_keys_defaults_identity_and_checks(lab):
    assert lab.rows(
        "DECLARE @t TABLE (id int IDENTITY, k int PRIMARY KEY, n int DEFAULT 3 CHECK (n > 0)); "
        "INSERT @t (k) VALUES (5), (4); SELECT * FROM @t"
    ) == [(2, 4, 3), (1, 5, 3)]
    assert lab.error("DECLARE @t TABLE (k int PRIMARY KEY); INSERT @t VALUES (1), (1)") == 2627
    assert lab.error("DECLARE @t TABLE (n int CHECK (n > 0)); INSERT @t VALUES (0)") == 547
    assert lab.error("DECLARE @t TABLE (n int NOT NULL); INSERT @t VALUES (NULL)") == 515


def test_rollback_leaves_them_alone(lab):
    assert lab.rows(
        "DECLARE @t TABLE (k int); BEGIN TRAN; INSERT @t VALUES (1); ROLLBACK; SELECT k FROM @t"
    ) == [(1,)]


def test_a_failing_statement_leaves_them_as_they_were(lab):
    assert lab.rows(
        "DECLARE @t TABLE (k int PRIMARY KEY); INSERT @t VALUES (1); "
        "BEGIN TRY INSERT @t VALUES (2), (1) END TRY BEGIN CATCH END CATCH "
        "SELECT k FROM @t"
    ) == [(1,)]


def test_update_and_delete_with_output(lab):
    assert lab.rows(
        "DECLARE @t TABLE (k int PRIMARY KEY, a int UNIQUE); "
        "INSERT @t VALUES (1, 10), (2, 20), (3, 30); UPDATE @t SET a += 1, k += 1; "
        "DELETE @t OUTPUT deleted.* WHERE k = 3; SELECT k, a FROM @t"
    ) == [(2, 11), (4, 31)]


def test_they_are_written_while_a_transaction_is_doomed(lab):
    assert lab.rows(
        "SET XACT_ABORT ON; DECLARE @t TABLE (k int); BEGIN TRAN; "
        "BEGIN TRY INSERT t (k) VALUES (1), (1) END TRY "
        "BEGIN CATCH INSERT @t VALUES (ERROR_NUMBER()); ROLLBACK; SELECT k FROM @t END CATCH"
    ) == [(2627,)]


def test_output_into_a_table_variable_when_the_statement_has_waited(lab):
    lab.run("INSERT t (k) VALUES (1), (2)")
    other = lab.other()
    other.run("BEGIN TRAN; UPDATE t SET a = 'w' WHERE k = 2")
    lab.send(
        "DECLARE @o TABLE (k int, a varchar(5)); "
        "DELETE t OUTPUT deleted.k, deleted.a INTO @o; SELECT * FROM @o ORDER BY k"
    )
    other.run("COMMIT")
    assert lab.session.sink.rows() == [(1, None), (2, "w")]


def test_a_recursive_procedure_has_its_own_one_per_call(lab):
    lab.run(
        "CREATE PROCEDURE r @n int AS DECLARE @t TABLE (k int); INSERT @t VALUES (@n); "
        "DECLARE @m int = @n - 1; IF @n > 1 EXEC r @m; INSERT log (k) SELECT k FROM @t"
    )
    lab.run("EXEC r 3")
    assert lab.rows("SELECT k FROM log") == [(1,), (2,), (3,)]


def test_a_table_type_passes_rows_to_a_procedure(lab):
    lab.run("CREATE TYPE ids AS TABLE (k int PRIMARY KEY)")
    lab.run("CREATE PROCEDURE p @ids ids READONLY AS SELECT SUM(k) FROM @ids")
    assert lab.value("DECLARE @i ids; INSERT @i VALUES (1), (2); EXEC p @i") == 3
