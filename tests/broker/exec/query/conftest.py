"""Tables for the query tests."""

import pytest

from tests.broker.exec.lab import Lab

SETUP = """
CREATE TABLE person (id int NOT NULL PRIMARY KEY, name nvarchar(20) NOT NULL, team int NULL,
    score decimal(9, 2) NULL);
CREATE TABLE team (id int NOT NULL PRIMARY KEY, title varchar(20) NOT NULL);
INSERT person VALUES (1, N'Ann', 10, 1.50), (2, N'Bob', 10, 2.50), (3, N'Cid', 20, NULL),
    (4, N'Dee', NULL, 4.00);
INSERT team VALUES (10, 'red'), (20, 'green'), (30, 'blue');
"""


@pytest.fixture
def lab():
    """Four persons, three teams."""
    made = Lab()
    made.run(SETUP)
    return made
