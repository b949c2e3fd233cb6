"""``redial uninstall``: a plan first, and with --yes NAME what it says."""

from __future__ import annotations

from redial.cli.configs import load_named
from redial.cli.errors import UserError, command, waits
from redial.cli.installing import heard, progress, revision
from redial.cli.plan import counted
from redial.cli.server import open_server
from redial.config import Config
from redial.deploy import connect_odbc
from redial.deploy import uninstall as remove
from redial.deploy.history import REMOVING, Story
from redial.deploy.plan import CHANGES, NOTHING
from redial.deploy.removal import Removal, RemovalPlan, printed, removal_plan
from redial.render import render


@command
def uninstall(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    purge_data: bool = False,
    purge_rows: int = 0,
    wait_seconds: int | None = None,
    yes: str = "",
    print_only: bool = False,
) -> int:
    """Say what would be drained, dropped and kept; with ``yes``, the configuration's name, do it.

    Tables stay unless ``purge_data``, and rows beyond ``purge_rows``. 2 when only the plan was shown.
    print_only: the T-SQL, and nothing else.
    """
    waits(wait_seconds)
    if purge_rows < 0 or (purge_rows and not purge_data):
        raise UserError(
            f"--purge-rows {purge_rows}",
            "goes with --purge-data: without it no row is lost"
            if purge_rows > 0
            else "is no number of rows",
            "redial uninstall --purge-data says how many rows there are",
        )
    model = load_named(config)
    config = model.name
    if yes and yes != config:
        raise UserError(
            f"--yes {yes}",
            f"is not the configuration's name, {config!r}; nothing was done",
            "look again",
        )
    files = render(model)
    if print_only:
        print(printed(model, files, purge_data, purge_rows), end="")
        return NOTHING
    with open_server(server, database, must_be_named=True, labelled=False, config=model) as target:
        connect = connect_odbc(target.odbc)
        made = removal_plan(model, connect, files, purge_data)
        if not made.removals:
            raise _nothing(config, model, made)
        shown = _shown(config, made, purge_data)
        print(shown)
        if not yes:
            print(f"Nothing was done. Next: {_next(config, made, purge_data)}")
            return CHANGES
        report = remove(
            model,
            connect,
            purge_data,
            progress,
            purge_rows=purge_rows,
            wait_seconds=wait_seconds,
            story=Story(REMOVING, "", revision(), shown),
            heard=heard,
        )
        print(f"{len(report.files)} files, {report.batches} batches: uninstalled")
        return NOTHING


def _nothing(config: str, model: Config, made: RemovalPlan) -> UserError:
    where = " and ".join(made.looked_at)
    why = (
        made.unseen[0] if made.unseen else f"nothing of it is there (schema [{model.schema_name}])"
    )
    return UserError(
        f"uninstall of {config} from database {where} on {made.server}",
        why.partition(" Next: ")[0],
        why.partition(" Next: ")[2]
        or "name the database it is in; where all is gone, there is nothing to do",
    )


def _shown(config: str, made: RemovalPlan, purge: bool) -> str:
    return "\n".join(
        line for one in made.removals for line in _lines(config, made.server, one, purge)
    )


def _lines(config: str, server: str, one: Removal, purge: bool) -> list[str]:
    rows = counted(one.rows) or "none"
    if purge and one.arriving:
        rows += f", and up to {one.arriving} that land while it drains"
    lines = [
        f"uninstall: configuration {config}, database {one.database} on {server}",
        f"  drains   {counted(one.dialogs) or 'no dialogs'}; pending: {counted(one.pending) or 'none'}; "
        f"in queues: {counted(one.queued) or 'none'}",
        f"  in the way of the drain: {one.in_the_way or 'nobody'}",
        f"  drops    {counted(one.drops) or 'nothing'}",
        f"  keeps    {counted(one.keeps) or 'nothing'}",
        f"  {'LOSES' if purge else 'keeps'}    rows: {rows}",
    ]
    lines += [f"  stays    {line}" for line in one.held]
    if one.stays:
        lines.append(f"  not ours, stays: {', '.join(one.stays)}")
    return lines


def _next(config: str, made: RemovalPlan, purge: bool) -> str:
    data = f" --purge-data --purge-rows {made.rows}" if purge else ""
    return f"redial uninstall --config {config} --yes {config}{data}"
