"""CURRENT_TRANSACTION_ID(): equal within a transaction, and one state however many there were."""

from redial_lab.explore import Client, Scenario, World, search
from tests.lab.explore.tables import tables


def searched(*texts: str, check=lambda world: []):
    return search(
        Scenario(
            "numbers",
            lambda: tables("a", 2),
            tuple(Client(f"T{n}", (text,), "d") for n, text in enumerate(texts, 1)),
            at_the_end=check,
        )
    )


def values(world: World) -> list[tuple]:
    return list(world.instance.server.database("d").resolve("dbo", "a").rows.entries.values())


def test_a_number_is_the_same_in_one_transaction_and_another_in_the_next():
    text = (
        "BEGIN TRANSACTION; DECLARE @n bigint = CURRENT_TRANSACTION_ID(), @same int; "
        "SET @same = CASE WHEN @n = CURRENT_TRANSACTION_ID() THEN 1 ELSE 0 END; "
        "COMMIT; BEGIN TRANSACTION; "
        "UPDATE dbo.a SET n = @same + "
        "CASE WHEN @n = CURRENT_TRANSACTION_ID() THEN 10 ELSE 0 END WHERE id = 1; COMMIT;"
    )
    found: set = set()
    searched(text, check=lambda world: found.add(tuple(values(world))) or [])
    assert {rows[0][1] for rows in found} == {1}


def test_how_often_a_transaction_was_begun_before_makes_no_other_state():
    """Who waits for another's row by asking again does so for ever: that is one state, not many."""
    poll = (
        "WHILE NOT EXISTS (SELECT 1 FROM dbo.a WHERE id = 1 AND n = 1) "
        "BEGIN BEGIN TRANSACTION; UPDATE dbo.a SET n = n WHERE id = 2 "
        "AND CURRENT_TRANSACTION_ID() > 0; COMMIT; END;"
    )
    result = searched(poll, "UPDATE dbo.a SET n = 1 WHERE id = 1;")
    assert result.ended and result.circles > 0


def test_a_number_kept_in_a_variable_tells_the_running_transaction_from_an_ended_one():
    """The two states differ by nothing else."""
    kept = (
        "DECLARE @n bigint; BEGIN TRANSACTION; SET @n = CURRENT_TRANSACTION_ID(); "
        "IF (SELECT n FROM dbo.a WHERE id = 2) = 0 BEGIN COMMIT; BEGIN TRANSACTION; END; "
        "UPDATE dbo.a SET n = 7 WHERE id = 2; "
        "UPDATE dbo.a SET n = CASE WHEN @n = CURRENT_TRANSACTION_ID() THEN 1 ELSE 2 END "
        "WHERE id = 1; COMMIT;"
    )
    found: set = set()
    searched(
        kept,
        "UPDATE dbo.a SET n = 5 WHERE id = 2;",
        check=lambda world: found.add(values(world)[0][1]) or [],
    )
    assert found == {1, 2}
