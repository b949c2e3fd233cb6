"""Tables for the tests of data changes."""

import pytest

from tests.broker.exec.lab import Lab

SETUP = """
CREATE TABLE t (id int IDENTITY(10, 5) NOT NULL, k int NOT NULL, a varchar(5) NULL,
    d int NOT NULL CONSTRAINT df DEFAULT (7), v rowversion,
    CONSTRAINT pk PRIMARY KEY (k), CONSTRAINT uq UNIQUE (id), CONSTRAINT ck CHECK (d < 100));
CREATE TABLE log (k int NULL, a varchar(5) NULL, note varchar(20) NOT NULL DEFAULT 'none');
"""


@pytest.fixture
def lab():
    """An empty table with every kind of column, and a log."""
    made = Lab()
    made.run(SETUP)
    return made
