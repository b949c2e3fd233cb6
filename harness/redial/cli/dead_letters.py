"""``redial deadletters``: dead letters by cause; replay, mark and purge them by what they have in common."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from redial.cli.configs import load_named
from redial.cli.doctor_site import Site
from redial.cli.errors import UserError, command, waits
from redial.cli.server import named_server
from redial.operate.dead_letters import CAUSES, VERBS, Answer, causes, run, statement, text
from redial.operate.doctor import Place, refused
from redial.quoting import qualified

FORMS = ("text", "json")
MODULES = {"": "monitor", "replay": "operate", "mark": "operate", "purge": "retention"}
"""What has to be installed for a verb; for none, to list the causes."""


@command
def deadletters(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    given: dict[str, str] | None = None,
    verbs: tuple[str, ...] = (),
    include_unhandled: bool = False,
    reason: str = "",
    yes: bool = False,
    form: str = "text",
    wait_seconds: int = 60,
) -> int:
    """List the causes of every database, or show what a verb would do, and with ``yes`` do it.

    given: the filter, by the names of the procedures' parameters, as text. verbs: at most one of VERBS.
    """
    waits(wait_seconds)
    chosen = given or {}
    _fits(chosen, verbs, include_unhandled, form)
    if yes and not (verbs and reason.strip()):
        raise UserError("--yes", "needs a verb and --reason", "say why: --reason 'ticket 4711'")
    model = load_named(config)
    module = MODULES[verbs[0] if verbs else ""]
    if module not in model.installed_modules:
        raise UserError(
            f"configuration {model.name}",
            f"does not have the module {module}, which this needs",
            f"switch on {module} in [modules] of {model.name}.toml; redial render; redial deploy",
        )
    asked = ""
    if verbs:
        values: dict[str, str | int] = {name: _value(name, word) for name, word in chosen.items()}
        values |= {"reason": reason} if reason else {}
        values |= {"includeUnhandled": 1} if include_unhandled else {}
        asked = statement(model, verbs[0], values, yes)
    site = Site(model, named_server(server, must_be_named=True), database, wait_seconds)
    answers = []
    for place, name in site.places():
        with site.connected(name) as connection:
            answers.append(_answer(connection, site, place, asked, verbs))
        if form == "text":
            print(text(answers[-1]), end="", flush=True)
    if form == "json":
        print(
            json.dumps(
                {"config": model.name, "places": [vars(one) for one in answers]},
                indent=1,
                default=_shown,
            )
        )
    elif asked and not yes:
        print(f"Nothing was done. Next: {_next(answers, verbs[0])}")
    return 0


def _next(answers: list[Answer], verb: str) -> str:
    """What helps behind a look: where nothing fits, to do it would do nothing."""
    counted = [one.result.get("Matching", one.result.get("DeadLetters")) for one in answers]
    if any(counted) or None in counted:
        return "the same command with --reason and --yes"
    unhandled = "; --purge takes unhandled ones with --include-unhandled only" * (verb == "purge")
    return f"no letter fits: redial deadletters lists the causes{unhandled}"


def _fits(chosen: dict[str, str], verbs: tuple[str, ...], include: bool, form: str) -> None:
    """Raises UserError for options that do not go together."""
    if form not in FORMS:
        raise UserError(f"--format {form}", "is not known", f"use one of: {', '.join(FORMS)}")
    if len(verbs) > 1:
        raise UserError(f"--{verbs[0]} --{verbs[1]}", "do not go together", "give one of them")
    if not verbs and (chosen or include):
        raise UserError(
            "a filter and --include-unhandled",
            "go with --replay, --mark or --purge",
            "leave them out to list the causes",
        )
    if verbs and not chosen:
        raise UserError(
            f"--{verbs[0]}",
            "needs to be told which letters",
            "redial deadletters lists the causes; add --code, --message-type, --reason-like, --key, "
            "--conversation, --from-utc or --to-utc",
        )
    if include and verbs != ("purge",):
        raise UserError("--include-unhandled", "goes with --purge only", "leave it out")


def _value(name: str, word: str) -> str | int:
    """A filter as the server takes it. Raises UserError."""
    try:
        if name == "code":
            return int(word)
        if name == "conversation":
            return str(UUID(word))
        if name in ("fromUtc", "toUtc"):
            moment = datetime.fromisoformat(word)
            utc = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
            return utc.isoformat(timespec="milliseconds")
    except ValueError:
        kind = {
            "code": "a whole number, or 0 for none",
            "conversation": "a conversation's id or handle",
        }
        raise UserError(
            f"--{re.sub('Utc$', '-utc', name)} {word}",
            f"is not {kind.get(name, 'a moment as 2026-11-29T03:00, in UTC')}",
            "correct it, and run the command again",
        ) from None
    return word


def _answer(
    connection: Any, site: Site, place: Place, asked: str, verbs: tuple[str, ...]
) -> Answer:
    """Of one database. Raises UserError."""
    connection.timeout = max(1, site.wait_seconds)
    try:
        if asked:
            outcomes, result = run(connection, asked)
            return Answer(place.server, place.database, (), asked, outcomes, result)
        return Answer(place.server, place.database, causes(connection, site.model))
    except Exception as error:  # of any driver
        name = qualified(site.model.schema_name, VERBS[verbs[0]] if verbs else CAUSES)
        why = refused(error, name, site.model, place, site.wait_seconds)
        raise UserError(why.what, why.why, why.next) from error


def _shown(value: Any) -> str:
    """What JSON has no form for."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
