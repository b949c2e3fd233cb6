"""The table of the access-path recipes: clustered key C(k), unique nonclustered N(h)."""

import pytest

from tests.broker.exec.lab import Lab

CREATE = (
    "CREATE TABLE t (k int NOT NULL, h int NOT NULL, a int NULL, "
    "CONSTRAINT pk PRIMARY KEY CLUSTERED (k), CONSTRAINT uq UNIQUE NONCLUSTERED (h))"
)


def make(**options):
    """A laboratory with three rows: k 1, 2, 3 and h 10, 20, 30."""
    lab = Lab(**options)
    lab.run(CREATE)
    lab.run("INSERT t (k, h, a) VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0)")
    lab.watch("t")
    return lab


@pytest.fixture
def lab():
    """Read committed by locks."""
    return make()


@pytest.fixture
def rcsi():
    """READ_COMMITTED_SNAPSHOT ON."""
    made = make()
    made.session.database.options["rcsi"] = True
    return made
