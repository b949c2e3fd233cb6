"""What the audit's command line takes. Light: ``redial --list`` reads it too."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

SCHEMA = "audit"
"""Where neither --schema nor --config is given."""


def parser() -> argparse.ArgumentParser:
    """Of ``redial audit`` and ``python -m redial.spark.audit``."""
    made = argparse.ArgumentParser(
        prog="python -m redial.spark.audit",
        description="Was everything that was sent landed, once and in order? Exit status: 0 nothing "
        "is lost, 1 something is lost, 2 there is no verdict, or not all of it could be written.",
    )
    add = made.add_argument
    where = made.add_mutually_exclusive_group().add_argument
    where(
        "--schema",
        help="schema of the configuration; the server says how that is set up (default: audit)",
    )
    where(
        "--config", help="a name in sql/configs or a path of a .toml: asked instead of the server"
    )
    add(
        "--server",
        help="ODBC connection string of the database, for ConversationLog, DeadLetter "
        "and, without --landed, Landing; also from REDIAL_SERVER",
    )
    add("--landed", help="Parquet or Delta that the landing job wrote; default: the server's table")
    add("--log", help="Parquet with ConversationLog; default: the server's table")
    add(
        "--end-of-stream",
        metavar="TYPE",
        help="message type that closes a conversation, for files without a server and a --config; "
        "default EndOfStream",
    )
    add(
        "--settled",
        action="store_true",
        help="with --landed: all that had landed when the log was read is in it, so a conversation "
        "that ended after its newest row must be whole too",
    )
    for name in ("since", "until"):
        add(
            f"--{name}",
            type=utc,
            metavar="UTC",
            help="only conversations begun then: 2026-03-01 or 2026-03-01T12:00:00+00:00",
        )
    add("--exact", action="store_true", help="verify every conversation number by number")
    add("--strict", action="store_true", help="status 1 for repeats and wrong order too")
    add("--html", type=Path, metavar="FILE", help="write the page there")
    add("--json", type=Path, metavar="FILE", help="write every figure there")
    return made


def utc(text: str) -> datetime:
    """A moment; without a zone it is UTC, whatever this machine's or the session's zone is."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
