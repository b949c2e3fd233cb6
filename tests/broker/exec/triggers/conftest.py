"""A database with a table and a log for each test of this package."""

import pytest

from tests.broker.exec.lab import Lab


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    lab.run("CREATE TABLE dbo.t (id int PRIMARY KEY, x int)")
    lab.run("CREATE TABLE dbo.log (n int IDENTITY, what varchar(30), id int, x int)")
    return lab


@pytest.fixture
def log(lab):
    def read() -> list[tuple]:
        return lab.rows("SELECT what, id, x FROM dbo.log ORDER BY n")

    return read
