"""``redial land --every 1`` while its server is away: it waits, says so, and lands each row once."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")


from .lab import missing
from .outage import landing, server

pytestmark = [
    pytest.mark.driver,
    pytest.mark.jvm,
    pytest.mark.nightly("a job with a JVM of its own"),
]
LARGE = 200_000
"""Bytes of a body: some of them are more than the wire has under way."""


@pytest.fixture
def shop():
    if why := missing():
        pytest.skip(why)
    with server() as one:
        yield one


def test_a_server_that_stops_and_is_back_at_another_port_is_waited_for(shop, tmp_path):
    """1 two rows land; 2 the server stops, until the job says that it waits; 3 two rows more."""
    shop.write(b"0", b"1")
    with landing(shop.odbc, tmp_path) as job:
        job.says("written: 2 rows")
        shop.goes()
        job.says("waits, and tries again for 120 s")
        shop.comes_back()
        job.says("goes on after")
        shop.write(b"2", b"3")
        while job.landed() != [b"0", b"1", b"2", b"3"]:
            job.says("written")
        assert job.ends() == 0
    assert job.shown[-1].startswith("4 rows in ")
    assert "Traceback" not in "".join(job.shown), "it is interrupted in order"
    assert len([line for line in job.shown if "waits, and" in line]) == 1


def test_a_server_that_is_lost_in_mid_fetch_is_read_on_behind_the_last_row(shop, tmp_path):
    """1 rows of many megabytes are on their way; 2 the wire is cut and nobody listens; 3 it is back."""
    large = [bytes([n]) * LARGE for n in range(60)]
    shop.write(b"first")
    with landing(shop.odbc, tmp_path, "--partitions", "1") as job:
        job.says("written: 1 rows")
        shop.cut_after(20 * LARGE)
        shop.write(*large)
        job.says("reading [audit].[Landing] waits")
        shop.comes_back()
        job.says("goes on after")
        while len(job.landed()) < 61:
            job.says("written")
        assert job.ends() == 0
    assert job.landed() == sorted([b"first", *large])
