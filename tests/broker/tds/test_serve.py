"""``invoke broker``: prints where to connect, and ends in good order when told to."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
from redial_broker.tds.null import NullInstance
from redial_broker.tds.serve import main
main(0, instance=NullInstance())
"""


@pytest.mark.driver
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_both_addresses_and_stops_at_a_signal(number):
    pytest.importorskip("mssql_python_odbc")
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as p:
        odbc, jdbc = p.stdout.readline(), p.stdout.readline()
        p.send_signal(number)
        assert p.wait(20) == 0
    assert odbc.startswith("ODBC: Driver={")
    assert jdbc.startswith("JDBC: jdbc:sqlserver://127.0.0.1:")
