"""SELECT INTO makes the table it fills."""


def test_a_temp_table_takes_names_types_and_rows(lab):
    lab.run("INSERT t (k, a) VALUES (1, 'x')")
    assert lab.rows("SELECT k, a, k + 1 AS n INTO #x FROM t; SELECT * FROM #x") == [(1, "x", 2)]


def test_the_identity_property_goes_along_and_goes_on(lab):
    lab.run("INSERT t (k) VALUES (1), (2)")
    lab.run("SELECT id, k INTO copy FROM t; INSERT copy (k) VALUES (3)")
    assert lab.rows("SELECT id, k FROM copy") == [(10, 1), (15, 2), (20, 3)]


def test_a_join_takes_it_away(lab):
    lab.run("INSERT t (k) VALUES (1)")
    lab.run("SELECT a.id INTO copy FROM t a JOIN t b ON a.k = b.k; INSERT copy VALUES (99)")
    assert lab.rows("SELECT id FROM copy ORDER BY id") == [(10,), (99,)]


def test_errors(lab):
    assert lab.error("SELECT k INTO log FROM t") == 2714
    assert lab.error("SELECT k + 1 INTO x FROM t") == 1038
    assert lab.error("SELECT k, k INTO x FROM t") == 2705


def test_it_is_undone_by_a_rollback(lab):
    lab.run("BEGIN TRAN; SELECT k INTO x FROM t; ROLLBACK")
    assert lab.error("SELECT * FROM x") == 208


def test_the_identity_function_numbers_the_rows_of_a_new_table(lab):
    lab.run("INSERT t (k, a) VALUES (1, 'a'), (2, 'b')")
    lab.run("SELECT IDENTITY(int, 10, 5) AS n, k INTO made FROM t ORDER BY k")
    lab.run("INSERT made (k) VALUES (3)")
    assert lab.rows("SELECT n, k FROM made ORDER BY k") == [(10, 1), (15, 2), (20, 3)]
    assert lab.error("SELECT IDENTITY(int, 1, 1)") == 177
    assert lab.error("SELECT IDENTITY(int) AS n, id INTO other FROM t") == 8108
