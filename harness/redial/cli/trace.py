"""``redial trace``: where a message is, or when and why it was gone."""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any

from redial.cli.configs import load_named
from redial.cli.doctor_site import Site, trouble_of
from redial.cli.errors import UserError, command, quoted
from redial.cli.server import named_server
from redial.config import Config
from redial.odbc import server_message
from redial.operate.doctor import Place, Trouble, refused
from redial.operate.trace import WRONG_ARGUMENT, Step, Traced, ask_both
from redial.quoting import qualified, visible

SENDER = "sender's side"
"""A place that usp_Trace names in the target's database, too: from the envelope, so it is not there."""
WIDTH = 160
"""Of the table where no terminal says how wide it is."""
_GUID = re.compile(r"\{?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}?")
_ROW = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


@command
def trace(
    what: str,
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    kind: str = "",
    sequence: int | None = None,
    rows: int | None = None,
    form: str = "text",
) -> int:
    """Print the steps of a message, or of all that a key or dialog has, and the verdict.

    kind, sequence: see ``question``. rows: how far to look back in tables without an index. form: of FORMS.
    Returns 0 landed, 2 pending, 3 dead letter or given up, 4 not known.
    """
    if form not in FORMS:
        raise UserError(f"--format {form}", "is not known", f"use one of: {', '.join(FORMS)}")
    model = load_named(config)
    if "monitor" not in model.installed_modules:
        raise UserError(
            f"configuration {model.name}",
            "has no module monitor, which usp_Trace is of",
            "set [modules].monitor = true, redial render, redial deploy",
        )
    asked = question(what, kind, sequence)
    site = Site(model, named_server(server, must_be_named=True), database)
    (home, here), *others = site.places()
    missing: list[Trouble | None] = []
    with ExitStack() as open_:
        connections = [open_.enter_context(site.connected(here))]
        try:
            connections += [open_.enter_context(site.connected(there)) for _, there in others]
        except Exception as error:
            missing.append(trouble_of(error, others[0][0]))
            if missing == [None]:
                raise
        try:
            found, failed = ask_both(connections, model, asked, rows)
        except Exception as error:  # any driver's
            why = _refused(error, site, home)
            raise UserError(why.what, why.why, why.next) from error
    if failed:
        missing.append(_refused(failed, site, others[0][0]))
    for each in missing:
        print(f"could not be asked: {each}", file=sys.stderr)
    if missing:
        unknown = f" {others[0][0]} was not asked: what has landed there is not known."
        found = replace(found, says=found.says + unknown)
    print(FORMS[form](found, model, str(home)), end="")
    return found.code


def question(what: str, kind: str = "", sequence: int | None = None) -> dict[str, Any]:
    """Parameters of usp_Trace and their values.

    kind: key or letter (the number of a dead letter); empty: by the form of ``what``: a GUID is an id, 0x and
    digits a row of Landing, anything else a key. sequence: one message of a dialog or key. Raises UserError.
    """

    def with_number(asked: dict[str, Any], parameter: str) -> dict[str, Any]:
        return asked if sequence is None else asked | {parameter: sequence}

    if kind == "letter":
        if not what.isascii() or not what.isdigit() or len(what) > 18:
            raise UserError(
                f"--letter {quoted(what)}", "is no number of a dead letter", "see vw_DeadLetters"
            )
        asked: dict[str, Any] = {"@deadLetterId": int(what)}
    elif kind != "key" and _GUID.fullmatch(what):
        return with_number({"@id": str(uuid.UUID(what)).upper()}, "@sequence")
    elif kind != "key" and _ROW.fullmatch(what):
        asked = {"@rowVersion": bytes.fromhex(what[2:].zfill(16))}
    elif not 0 < len(what.encode("utf-16-le", "surrogatepass")) <= 400:
        raise UserError(f"key {quoted(what[:20])}", "is no key", "a key has 1 to 200 characters")
    else:
        return with_number({"@key": what}, "@keySequence")
    if sequence is not None:
        raise UserError("--sequence", "does not go with what is one message", "leave it out")
    return asked


def _refused(error: Exception, site: Site, place: Place) -> Trouble:
    number, text = server_message(error)
    if number == WRONG_ARGUMENT:
        return Trouble("usp_Trace", text.rstrip(". "), "redial trace --help")
    name = qualified(site.model.schema_name, "usp_Trace")
    return refused(error, name, site.model, place, site.wait_seconds)


def _text(found: Traced, config: Config, label: str) -> str:
    from rich.console import Console
    from rich.table import Table

    two = len({one.database for one in found.steps}) > 1
    table = Table(title=f"trace: configuration {config.name}, {label}", title_justify="left")
    for heading in ("when (UTC)", "step", "place", "message", "detail"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "when (UTC)")
    for one in found.steps:
        place = f"{one.place} in {one.database}" if two and one.place != SENDER else one.place
        cells = (one.when or "now", one.step, place, _message(one), one.detail or "")
        table.add_row(*(visible(cell) for cell in cells))
    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    with console.capture() as kept:
        if found.steps:
            console.print(table)
    return f"{kept.get()}{found.word}: {visible(found.says)}\n"


def _message(one: Step) -> str:
    """Its dialog, as far as one tells dialogs apart by eye, its number there, and its key."""
    number = "" if one.sequence is None else f" {one.sequence}"
    key = "" if one.key is None else f"; {one.key}"
    within = f" {one.key_sequence}" if one.key_sequence else ""
    return f"{(one.conversation or '')[:8]}{number}{key}{within}".lstrip("; ")


def _json(found: Traced, config: Config, label: str) -> str:
    said = {
        "config": config.name,
        "server": label,
        "steps": [asdict(one) for one in found.steps],
        "verdict": found.word,
        "says": found.says,
        "status": found.code,
    }
    return json.dumps(said, indent=1, ensure_ascii=False) + "\n"


FORMS: dict[str, Callable[[Traced, Config, str], str]] = {"text": _text, "json": _json}
"""By what --format calls them."""
