"""``sql/accepted.toml`` of the project folder: read for plan, deploy and verify, written by baseline."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

from redial.cli.errors import UserError
from redial.deploy.accepting import Accepted, Entry, acceptable, names, state_in, words
from redial.deploy.fingerprint import Difference
from redial.deploy.fingerprint.compare import SINCE, TEXT
from redial.deploy.verify import Look
from redial.project import project

TABLE = "accepted"
"""What each entry of the file is called."""
NEEDED, OTHERS = ("finding", "server", "reason"), ("until", "config", "database", "text")
"""Keys of an entry."""
HEAD = """\
# Differences that stay: redial verify says them each time, and is green. redial plan and deploy leave them
# as they are. redial baseline writes an entry; docs/howto/deploy.md explains its keys.
"""
_HEADER = re.compile(r"\s*\[\[\s*accepted\s*\]\]")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
NEXT = "correct the file; docs/howto/deploy.md explains its keys"


def today() -> date:
    """The day by which ``until`` is judged, UTC; a test sets another."""
    return datetime.now(UTC).date()


def accepted() -> Accepted:
    """What the project's file accepts; nothing where there is none. Raises UserError."""
    here = project()
    path = here.accepted
    if not path.exists():
        return Accepted((), today())
    name = path.relative_to(here.root).as_posix()
    try:
        text = path.read_text("utf-8-sig")
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(name, f"is not TOML: {error}", NEXT) from error
    except UnicodeDecodeError as error:
        raise UserError(name, f"is not UTF-8: {error}", NEXT) from error
    entries = said.pop(TABLE, [])
    if said or not isinstance(entries, list):
        what = ", ".join(map(repr, said)) or repr(TABLE)
        raise UserError(name, f"has {what}, and holds nothing but [[{TABLE}]]", NEXT)
    lines = [n for n, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]
    if len(lines) != len(entries):
        lines = []
    found: list[Entry] = []
    for number, values in enumerate(entries):
        where = f"{name}:{lines[number]}" if lines else f"{name}, entry {number + 1}"
        one = _entry(values, where, here.names())
        if same := next((other for other in found if _same(one, other)), None):
            raise UserError(where, f"says the same as {same.where}", "take one of them out")
        found.append(one)
    return Accepted(tuple(found), today())


def _same(one: Entry, other: Entry) -> bool:
    """Whether two entries are for the same, one of them maybe with what verify prints around it."""
    own, others = (
        (each.server.lower(), each.config, each.database.lower()) for each in (one, other)
    )
    said, before = words(one.finding), words(other.finding)
    return own == others and (names(said, before) or names(before, said))


def _entry(values: Any, where: str, configs: list[str]) -> Entry:
    """One entry. Raises UserError."""
    if not isinstance(values, dict):
        raise UserError(where, f"is {values!r}, no [[{TABLE}]]", NEXT)
    known = (*NEEDED, *OTHERS)
    if others := sorted(set(values) - set(known)):
        raise UserError(
            where, f"has no key {', '.join(others)}; it may have {', '.join(known)}", NEXT
        )
    texts = {key: value for key, value in values.items() if key != "until"}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise UserError(where, f"{key} is {value!r}, and must be a text", NEXT)
    for key in NEEDED:
        if not texts.get(key, "").strip():
            raise UserError(where, f"{key} is missing", _MISSING[key])
    config = texts.get("config", "")
    if config and config not in configs:
        raise UserError(
            where,
            f"config {config!r} has no file in sql/configs",
            f"use one of: {', '.join(configs)}",
        )
    return Entry(where, until=day(values["until"], where) if "until" in values else None, **texts)


_MISSING = {
    "finding": "copy the line that redial verify prints",
    "server": "say its name, as SELECT SERVERPROPERTY('ServerName') says it; * stands for anything",
    "reason": "say why it stays: whoever reads it next year asks",
}


def day(said: object, where: str) -> date:
    """A day of TOML, or as text. Raises UserError."""
    if isinstance(said, date) and not isinstance(said, datetime):
        return said
    if isinstance(said, str) and _DAY.fullmatch(said):
        try:
            return date.fromisoformat(said)
        except ValueError:
            pass
    raise UserError(where, f"until is {str(said)!r}, and no day", "write it as 2027-01-31")


def last_day(said: str, where: str) -> date:
    """A day of an option, until which something is to be accepted. Raises UserError for one that is past."""
    until, now = day(said, where), today()
    if until < now:
        raise UserError(
            where, f"until is {until}, and past: today is {now} (UTC)", "say a later day"
        )
    return until


def to_accept(looks: list[Look], findings: Iterable[str]) -> list[tuple[Look, Difference]]:
    """What ``baseline --accept`` writes: what findings name, or all but what surrounds an installation.

    Raises UserError for a finding that is none.
    """
    every = [
        (one, each)
        for one in looks
        for each in (*one.differences, *(old for old in one.accepted if old not in one.reasons))
        if acceptable(each)
    ]
    wanted = list(findings)
    if not wanted:
        return [(one, each) for one, each in every if each.how != SINCE]
    missing = [said for said in wanted if not any(_named(said, *each) for each in every)]
    if missing:
        raise UserError(
            f"--finding {missing[0]!r}",
            "is no finding here that can be accepted; nothing was written",
            "copy the line that redial verify prints; what deploy mends cannot be accepted",
        )
    return [each for each in every if any(_named(said, *each) for said in wanted)]


def _named(said: str, one: Look, each: Difference) -> bool:
    """Whether a finding that somebody has copied names a difference, as it is now."""
    return state_in(said, each, one.database) in ("", each.state.removeprefix(TEXT))


def entry_text(
    config: str, one: Look, each: Difference, reason: str = "", until: date | None = None
) -> str:
    """An entry for the file."""
    said = {
        "finding": words(str(each), one.database),
        "config": config,
        "server": one.server,
        "database": one.database,
        "reason": reason,
    }
    lines = [f"{key} = {_quoted(value)}" for key, value in said.items() if value or key == "reason"]
    lines += [f"until = {until}"] if until else []
    return "\n".join([f"[[{TABLE}]]", *lines, ""])


def append(entries: list[str]) -> str:
    """Add entries to the file, where there are any; its name."""
    here = project()
    path = here.accepted
    name = path.relative_to(here.root).as_posix()
    if not entries:
        return name
    text = path.read_text("utf-8") if path.exists() else ""
    before = "" if text.endswith("\n") else "\n" if text else HEAD
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(before + "".join(f"\n{entry}" for entry in entries))
    return name


def _quoted(text: str) -> str:
    """A basic string of TOML, which escapes as JSON does, and DEL too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
