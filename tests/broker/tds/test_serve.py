"""``invoke broker``: prints where to connect, and ends in good order when told to."""

import signal
import subprocess
import sys

import pytest

from tests.waiting import HANGS

PROGRAM = f"""
from redial_broker.tds import serve
from redial_broker.tds.null import NullInstance

serve.GRACE_SECONDS = {HANGS}
serve.main(0, instance=NullInstance())
"""


@pytest.mark.driver
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_both_addresses_and_stops_at_a_signal(number):
    pytest.importorskip("mssql_python_odbc")
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as p:
        odbc, jdbc = p.stdout.readline(), p.stdout.readline()
        p.send_signal(number)
        assert p.wait(HANGS) == 0
    assert odbc.startswith("ODBC: Driver={")
    assert jdbc.startswith("JDBC: jdbc:sqlserver://127.0.0.1:")


STUCK = """
from redial_broker.tds import serve
from redial_broker.tds.null import NullInstance

class Stuck(NullInstance):
    def pump(self, max_steps=1000):
        while True:
            pass

serve.GRACE_SECONDS = 0.1
serve.main(0, instance=Stuck())
"""


def test_a_statement_that_gives_nobody_a_turn_does_not_keep_the_process():
    pytest.importorskip("mssql_python_odbc")
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", STUCK], stdout=pipe, stderr=pipe, text=True) as p:
        p.stdout.readline()
        p.send_signal(signal.SIGTERM)
        assert p.wait(HANGS) == 1
        assert "in good order" in p.stderr.read()
