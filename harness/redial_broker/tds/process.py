"""``BrokerProcess``: an embedded broker in a process of its own.

Needed where client and server must not share an interpreter: for measuring (each has its own core)
and for pyodbc's table-valued parameters, for which pyodbc asks the server while it holds the
interpreter lock, so that a server on another thread of the same process could never answer.
"""

from __future__ import annotations

import subprocess
import sys
from types import TracebackType

from redial_broker.tds.embedded import credentials
from redial_broker.tds.null import NullInstance

_STOP_SECONDS = 20.0


class BrokerProcess:
    """Runs ``redial_broker.tds.serve`` on a real clock; use it as a context manager.

    port: 0 for a free one. null: the instance that does nothing. odbc, jdbc and port are set once
    it accepts connections; user and password are the administrator's. Raises RuntimeError with
    what the process said when it cannot start.
    """

    def __init__(self, port: int = 0, *, seed: int = 0, null: bool = False) -> None:
        self._command = [
            sys.executable,
            *("-m", "redial_broker.tds.serve", "--port", str(port), "--seed", str(seed)),
            *(["--null"] if null else []),
        ]
        self._process: subprocess.Popen[str] | None = None
        self.user, self.password = credentials(NullInstance() if null else None)
        self.port = port
        self.odbc = ""
        self.jdbc = ""

    def __enter__(self) -> BrokerProcess:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Process id; RuntimeError when it does not run."""
        if self._process is None:
            raise RuntimeError("the broker process is not running")
        return self._process.pid

    def start(self) -> BrokerProcess:
        """Start the process and wait for its two lines."""
        process = self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        self.odbc = process.stdout.readline().removeprefix("ODBC: ").strip()
        self.jdbc = process.stdout.readline().removeprefix("JDBC: ").strip()
        if not self.jdbc:
            _, said = process.communicate(timeout=_STOP_SECONDS)
            self._process = None
            raise RuntimeError(f"the broker process did not start: {said.strip()[-1000:]}")
        self.port = int(self.jdbc.partition(";")[0].rpartition(":")[2])
        return self

    def stop(self) -> None:
        """Ask the process to end and wait for it; harmless when it has ended."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.communicate(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
