"""``redial doctor``: what is wrong with an installation, what helps, and who may do it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from redial.cli.configs import load_named, meant
from redial.cli.doctor_fix import fix as mend
from redial.cli.doctor_site import Known, Site, known_in
from redial.cli.errors import UserError, command, waits
from redial.cli.server import EMBEDDED, named_server, user_database
from redial.config import Config
from redial.operate.doctor import Report, severity
from redial.operate.doctor_forms import FORMS, page_of, wrapped
from redial.render.findings import NOT_LOOKED_AT, WHO, Finding, Head, heads
from redial.render.renderer import register
from redial.render.sides import Side


@command
def doctor(
    config: str,
    *,
    servers: Iterable[str] = (),
    database: str | None = None,
    form: str = "text",
    out: str | None = None,
    wait_seconds: int = 60,
    list_ids: bool = False,
    explain: str = "",
    fix: str = "",
    yes: bool = False,
) -> int:
    """Say what is wrong, the worst first: a number of ``Status``.

    servers: several make one report. form: a name of FORMS; ``out``: a file to write it to, and text is
    printed. list_ids, explain: of the register, without a server. fix: an id, whose statements are shown
    and with ``yes`` run.
    """
    waits(wait_seconds)
    if form not in FORMS:
        raise UserError(f"--format {form}", "is not known", f"use one of: {', '.join(FORMS)}")
    report_only = {"--format": form != "text", "--out": bool(out)}
    _one_thing({"--list": list_ids, "--explain": bool(explain), "--fix": bool(fix)}, report_only)
    if yes and not fix:
        raise UserError("--yes", "goes with --fix only", "redial doctor names the ids to fix")
    if list_ids:
        return _list(config)
    model = load_named(config)
    known = known_in(model)
    if explain:
        return _explain(model, known, explain)
    named: list[str | None] = [*servers]
    texts = [named_server(each, must_be_named=True) for each in named or [None]]
    for each in texts:
        if each != EMBEDDED:
            user_database(each, database)  # a wrong option is told before anything is asked
    if fix:
        _known_id(fix, model, known)
        if len(texts) > 1:
            raise UserError("--fix", "works on one server at a time", "name one --server")
        return mend(Site(model, texts[0], database, wait_seconds), known, fix, yes)
    looks = [
        one for each in texts for one in Site(model, each, database, wait_seconds).looked_at(known)
    ]
    return _said(Report(model.name, tuple(looks)), form, out)


def _one_thing(asked: dict[str, bool], report_only: dict[str, bool]) -> None:
    """Raises UserError for options that do not go together."""
    said = [name for name, on in asked.items() if on]
    more = said[1:] + [name for name, on in report_only.items() if on]
    if said and more:
        raise UserError(f"{said[0]} {more[0]}", "do not go together", f"leave out {more[0]}")


def _said(report: Report, form: str, out: str | None) -> int:
    """Print it, or write it; what could not be looked at is told wherever somebody looks."""
    print(FORMS["text" if out else form](report), end="")
    if out:
        Path(out).write_text(FORMS[form](report), "utf-8")
    elif form != "text":
        for one in report.looks:
            if one.trouble:
                print(one.trouble, file=sys.stderr)
    return report.status


def _list(config: str) -> int:
    """Every id; with a configuration only what is looked for there."""
    found: dict[str, Finding | Head] = {one.id: one for one in heads()}
    if config:
        found = {one.id: one for _, known in known_in(load_named(config)) for one in known}
    rows = [
        (severity(one.priority), one.id, one.title, _who(one))
        for one in sorted(found.values(), key=lambda one: (one.priority, one.id))
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        print("  ".join([*cells, row[3]]).rstrip())
    return 0


def _who(one: Finding | Head) -> str:
    return one.who if isinstance(one, Finding) else WHO[one.role].format(role="the operator role")


_RIGHTS = {
    "server": "VIEW SERVER STATE, or from SQL Server 2022 VIEW SERVER PERFORMANCE STATE",
    "sessions": "VIEW SERVER STATE, or is an operator where an administrator has run blocking.sql",
    "jobs": "SELECT on msdb.dbo.sysjobs and msdb.dbo.sysjobservers",
}
"""What whoever asks must have, by what a finding needs."""


def _explain(model: Config, known: Known, id: str) -> int:
    if id == NOT_LOOKED_AT:
        print(
            f"{id}: what could not be looked at. Its advice says which right is missing, or what failed."
        )
        return 0
    _known_id(id, model, known)
    shown: set[str] = set()
    for here, findings in known:
        for one in findings:
            if one.id == id and one.query not in shown:
                shown.add(one.query)
                print("\n".join(_explained(model, here, one)))
    return 0


def _explained(model: Config, here: Side, one: Finding) -> list[str]:
    """What there is to say of a finding, its query last."""
    lines = [f"{one.id}: {one.title}", *wrapped("how bad", severity(one.priority))]
    lines += wrapped("do", one.advice)
    lines += wrapped("who", one.who or "nobody in particular")
    for need, right in _RIGHTS.items():
        if need in one.needs:
            lines += wrapped(
                "asked by", f"whoever has {right}; others are told that it was not seen"
            )
    if one.page:
        lines += wrapped("page", page_of(one.page))
    where = f", in database {model.target.database}" if not here.initiator else ""
    lines += [f"    asks{where}:", ""]
    for gathered in register(model, here).looks:
        if gathered.id in one.needs:
            lines += [f"CREATE TABLE #{gathered.id}", "(", gathered.table, ");", gathered.fill, ""]
    return [*lines, f"{one.query};", ""]


def _known_id(id: str, model: Config, known: Known) -> None:
    """Raises UserError for an id of nothing that is looked for."""
    here = {one.id for _, findings in known for one in findings}
    if id in here:
        return
    every = {one.id: one for one in heads()}
    if id in every:
        raise UserError(
            id,
            f"is not looked for in configuration {model.name}: only where {every[id].when}",
            f"redial doctor --list --config {model.name}",
        )
    raise UserError(
        id,
        "is no id of a finding",
        f"{meant(id, [*every, NOT_LOOKED_AT])}redial doctor --list names them",
    )
