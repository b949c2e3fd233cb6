"""Secrets of a connection: kept out of what Spark keeps.

Spark shows the options of a plan, and hides a value only by its option's name: password, secret,
token, access key, url. So a secret has an option of its own, and none within option odbc.
docs/spark.md, Secrets, says what Spark keeps all the same.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

from redial.server import pairs, unbraced
from redial.spark.errors import PipelineError
from redial.spark.session import GATEWAY

ACCESS_TOKEN = 1256
"""SQL_COPT_SS_ACCESS_TOKEN, an attribute of a connection, set before it is opened."""

_SECRET = re.compile(r"(?i)\b(pwd|\w*password|\w*secret|\w*token|passphrase)\s*[=:]")
_USER, _PASSWORD = ("uid", "user", "user id"), ("pwd", "password")
LOGIN = (*_USER, "authentication", "trusted_connection")
"""Keywords that say who connects."""
SAY_THE_REST = ("authentication", "trusted_connection", "dsn", "filedsn")
"""Keywords with which a login may be without a password, or have it in a file."""


def secrets_in(odbc: str) -> list[str]:
    """Keywords of a connection string behind which a secret stands, as they are written there.

    Also within braces and values (ClientCertificate=file:x,password:y): Spark would show it.
    """
    return sorted({found[1] for found in _SECRET.finditer(odbc)})


def keywords(odbc: str) -> set[str]:
    """Those of a connection string, in lower case."""
    return {keyword.lower() for keyword, _ in pairs(odbc)}


def from_odbc(text: str) -> dict[str, str]:
    """A connection string as options: odbc without login and password, user and password.

    Of a keyword that is there twice the first counts, as for a driver (SQLDriverConnect).
    """
    found: dict[str, str] = {}
    kept = []
    for keyword, value in pairs(text):
        name = keyword.lower()
        option = "user" if name in _USER else "password" if name in _PASSWORD else None
        if option is None:
            kept.append(f"{keyword}={value}")
        else:
            found.setdefault(option, unbraced(value))
    return {"odbc": ";".join(kept)} | found


def server_of(argument: str | None) -> str | None:
    """The connection string of a job: --server, else REDIAL_SERVER. Raises PipelineError for a secret
    on the command line of spark-submit, which Spark keeps in its event log."""
    if argument and GATEWAY in os.environ and (found := secrets_in(argument)):
        raise PipelineError(
            "--server",
            f"has {', '.join(found)} on spark-submit's command line, which Spark writes into its "
            "event log",
            "the whole string in the environment as REDIAL_SERVER; and change that secret, it is "
            "written already",
        )
    return argument or os.environ.get("REDIAL_SERVER")


def secret_at(place: str) -> str:
    """The secret at ``env:NAME`` or ``file:PATH``. Raises ValueError with a rule, never a secret."""
    kind, _, name = place.partition(":")
    if kind == "env" and name:
        secret = os.environ.get(name)
        if secret is None:
            raise ValueError(f"the driver's environment had no {name} when Spark started")
    elif kind == "file" and name:
        try:
            secret = Path(name).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "is not UTF-8"
            raise ValueError(f"file {name} cannot be read by the driver: {why}") from None
    else:  # perhaps the secret itself: not shown
        raise ValueError("is not understood")
    if not secret:
        raise ValueError(f"{place} is empty")
    return secret


def token_attribute(token: str) -> dict[int, bytes]:
    """An access token as ODBC Driver 18 takes it: length and UTF-16."""
    data = token.encode("utf-16-le")
    return {ACCESS_TOKEN: struct.pack(f"<I{len(data)}s", len(data), data)}
