"""``invoke explore``: search the states of a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from redial.cli.errors import UserError, command

if TYPE_CHECKING:
    from redial_lab.explore.user_files import OwnError
    from redial_lab.proof.explore_command import Wanted


@command
def explore(
    scenario: str = "two_phase",
    *,
    transitions: int = 2_000_000,
    file: str = "",
    against: str = "",
    setup: str = "",
    walks: int = 0,
    seed: int = 1,
    changes: int = -1,
    vary: bool = False,
    orders: bool = False,
    replay: str = "",
    out: str = "",
    fewer: bool = False,
    past: bool = False,
    heat: bool = False,
    statements_atomic: bool = False,
    explain_hash: bool = False,
    list: bool = False,
) -> int:
    """Search or walk a scenario, a setup or a user's own file. Exit statuses: docs/explorer.md."""
    from redial_lab.explore.against import OtherSessionsError
    from redial_lab.explore.queries import QueryError
    from redial_lab.explore.replay_words import SeedError
    from redial_lab.explore.user_files import OwnError
    from redial_lab.explore.world import EndlessError
    from redial_lab.proof.explore_command import Wanted, main

    if explain_hash or list:
        from redial_lab.proof.explore_lists import explained_hash, listed

        print("\n".join(explained_hash() if explain_hash else listed()))
        return 0
    wanted = Wanted(
        name=scenario,
        setup=setup,
        file=file,
        against=against,
        transitions=transitions,
        walks=walks,
        seed=seed,
        changes=changes,
        vary=vary,
        orders=orders,
        fewer=fewer,
        replay=replay,
        out=out,
        past=past,
        heat=heat,
        statements_atomic=statements_atomic,
    )
    _check(wanted)
    try:
        return main(wanted)
    except OtherSessionsError as error:
        same = "name the same sessions in both files, in the same order"
        raise UserError(f"--against {against}", str(error), same) from error
    except OwnError as error:
        raise _file_error(against, error) from error
    except EndlessError as error:
        raise UserError(file or setup or scenario, str(error), "let the loop end") from error
    except QueryError as error:
        raise UserError(file, str(error), "mend the query, or what keeps the lock") from error
    except SeedError as error:
        next_step = "take a word this very scenario has printed"
        raise UserError(f"--replay {replay}", str(error), next_step) from error


def _check(wanted: Wanted) -> None:
    """Refuse what cannot be searched, before anything is."""
    from redial_broker.engine.switches import SwitchError
    from redial_lab.explore.user_files import OwnError
    from redial_lab.proof.explore_command import SCENARIOS, Wanted

    if wanted.name not in SCENARIOS:
        what_there_is = f"use one of: {', '.join(SCENARIOS)}; or --list"
        raise UserError(f"--scenario {wanted.name}", "there is none of that name", what_there_is)
    if wanted.transitions < 1:
        raise UserError(
            f"--transitions {wanted.transitions}", "bounds the search", "pass 1 or more"
        )
    usual = Wanted()
    if wanted.file and (wanted.setup or wanted.name != usual.name):
        one = "pass one of --file, --setup, --scenario"
        raise UserError(f"--file {wanted.file}", "says what is searched", one)
    if not wanted.walks and (wanted.seed, wanted.changes) != (usual.seed, usual.changes):
        raise UserError("--seed, --changes", "belong to walks", "pass --walks N as well")
    if wanted.walks < 0:
        next_step = "pass 1 or more, or 0 to search"
        raise UserError(f"--walks {wanted.walks}", "counts schedules", next_step)
    others = wanted.vary or wanted.orders or wanted.walks
    if wanted.fewer and others:
        raise UserError("--fewer", "is a search of its own", "leave out --vary, --orders, --walks")
    if wanted.against and (not wanted.file or others or wanted.fewer or wanted.replay):
        why = "is compared with a file, by whole searches"
        rest = "pass --file, and leave out --vary, --orders, --fewer, --walks and --replay"
        raise UserError(f"--against {wanted.against}", why, rest)
    try:
        wanted.scenario()
    except OwnError as error:
        raise _file_error(wanted.file, error) from error
    except (SwitchError, ValueError) as error:
        raise UserError(f"--setup {wanted.setup}", str(error), "--list lists the names") from error
    if wanted.out:
        try:
            Path(wanted.out).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--out {wanted.out}", str(error), "name a folder") from error


def _file_error(file: str, error: OwnError) -> UserError:
    lines = "".join(f"\n  - {line}" for line in error.problems)
    return UserError(file, lines, "docs/explorer-files.md describes the file")
