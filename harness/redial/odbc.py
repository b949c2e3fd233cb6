"""Microsoft's ODBC Driver 18 as files of a Python package, and what it says through pyodbc."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

_PACKAGE = "mssql_python_odbc"
_RELEASE_FILE = Path("/etc/os-release")
_FAMILIES = {
    "debian": "debian_ubuntu",
    "ubuntu": "debian_ubuntu",
    "rhel": "rhel",
    "fedora": "rhel",
    "centos": "rhel",
    "suse": "suse",
    "alpine": "alpine",
}
_MACHINES = {"amd64": "x86_64", "aarch64": "arm64"}

_DRIVER_TAGS = re.compile(r"^\[\w{5}\]\s*(?:(?:\[[^\]]*\])*?\[SQL Server\]|(?:\[[^\]]*\])*)\s*")
_NUMBER = re.compile(r"\((\d+)\)\s*\(SQL\w+\)")


class DriverNotFound(RuntimeError):
    """Microsoft's ODBC Driver 18 is not where we look; the text says what to do."""


def linux_family(os_release: str) -> str:
    """The directory name the package uses for a distribution, from the text of os-release."""
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    names = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".replace('"', "").split()
    return next((_FAMILIES[name] for name in names if name in _FAMILIES), "debian_ubuntu")


def odbc_driver() -> str:
    """Path of ODBC Driver 18 inside the installed package mssql-python-odbc.

    Raises DriverNotFound with the fix when the package is missing or laid out in another way.
    """
    try:
        package = __import__(_PACKAGE)
    except ImportError:
        raise DriverNotFound(
            "ODBC Driver 18 comes with the package mssql-python-odbc: "
            "python -m pip install mssql-python-odbc"
        ) from None
    libraries = Path(package.get_libs_dir())
    found = find_driver(libraries)
    if found is None:
        raise DriverNotFound(
            f"no ODBC driver for {platform.system()} {platform.machine()} below the libs directory "
            f"of mssql-python-odbc {package.__version__}: its layout has changed, adapt "
            "find_driver in harness/redial/odbc.py or pin the package to an older version"
        )
    return str(found)


def find_driver(libraries: Path) -> Path | None:
    """The driver of this system below ``libraries``, None when there is none.

    The distribution's own build is preferred; another one of the same machine is the second choice.
    """
    machine = platform.machine().lower()
    machines = {machine, _MACHINES.get(machine, machine)}
    names = ("libmsodbcsql*.so*", "libmsodbcsql*.dylib", "msodbcsql*.dll")
    found = sorted(
        path
        for name in names
        for path in libraries.rglob(name)
        if machines & set(path.relative_to(libraries).parts)
    )
    if not found:
        return None
    family = linux_family(_RELEASE_FILE.read_text()) if _RELEASE_FILE.exists() else ""
    return next((path for path in found if family in path.parts), found[0])


NO_PROCEDURE = 2812
"""Error: could not find stored procedure (sys.messages)."""
NOT_ALLOWED = 229
"""A right is missing (sys.messages)."""
NO_SUCH_OBJECT = 208
"""There is no such table or view, or none that this login may see (sys.messages)."""


CHATTER = frozenset({5701, 5703, 2007})
"""What a server says of a changed database and language, and of a module that calls one still to be made
(sys.messages): of every deployment, and nothing to do about it."""
_TAGS = re.compile(r"^(?:\[[^\]]*\])*?\[SQL Server\]")
_SAID_NUMBER = re.compile(r"\((\d+)\)$")


def said(cursor: Any) -> list[str]:
    """What the server said with the result a cursor stands at: PRINT, and errors that are only words.

    Of a driver that keeps them (``messages`` of the DB-API, which pyodbc has); else nothing. Each result
    has its own, so they are asked for before each ``nextset``.
    """
    found = []
    for message in getattr(cursor, "messages", None) or ():
        parts = message if isinstance(message, tuple) else (message,)
        number = _SAID_NUMBER.search(str(parts[0]))
        text = _TAGS.sub("", str(parts[-1])).strip()
        if text and not (number and int(number[1]) in CHATTER):
            found.append(text)
    return found


def server_message(error: BaseException) -> tuple[int | None, str]:
    """Number and text of what the server said, out of a DB-API error's arguments.

    ODBC text reads ``[42000] [Vendor][Driver][SQL Server]text (number) (SQLExecDirectW)``, several
    of them joined by semicolons; the first is the cause, so its number is taken.
    """
    raw = str(error.args[-1]) if error.args else str(error)
    found = _NUMBER.search(raw)
    text = _DRIVER_TAGS.sub("", raw[: found.start()] if found else raw).strip()
    return (int(found.group(1)) if found else None), text
