"""A new version of the contract rolled out under search: callers send while each statement of it runs.

Expand, then contract. The first deployment puts the new version beside the old one; both are served. The
second lists the old one no more, once no dialog is on it. Neither closes the gate: every caller gets in.
"""

from __future__ import annotations

from dataclasses import replace

from redial.config import Config
from redial.deploy.apply import installation
from redial.deploy.skipping import module_files
from redial.render import render
from redial.tsql import split_batches
from redial_lab.explore.checks import all_of, no_deadlock, nothing_left_behind
from redial_lab.explore.world import Client, Scenario, World
from redial_lab.proof.audit_setups import (
    DATABASE,
    EVENT,
    TARGET_IN_ONE_GO,
    accounted,
    callers,
    deployed,
    end_of_stream_once,
    no_orphan_dialog,
    small_config,
)

V1 = "//redial/audit/contract"
V2 = "//redial/audit/contract/2"
NOTE = "//redial/audit/note"


def version(name: str, previous: list[str], *types: str) -> Config:
    """The small configuration with a version of its contract."""
    data = small_config().model_dump(by_alias=True, mode="json")
    data["contract"] |= {"name": name, "previous": previous}
    data["message_types"] = [{"name": each, "validation": "none"} for each in types]
    return Config.model_validate(data)


OLD = version(V1, [], EVENT)
BOTH = version(V2, [V1], EVENT, NOTE)
NEW = version(V2, [], EVENT, NOTE)


def difference(before: Config, after: Config, without: str = "") -> tuple[str, ...]:
    """What ``redial deploy`` sends: modules that are as they were are left out (``skipping``).

    without: beginning of the names of files that are forgotten: a mistake to be caught.
    """
    was, files = render(before), render(after)
    modules = module_files(files)
    return tuple(
        batch.sql
        for name in installation(files)
        if name not in modules or was.get(name) != files[name]
        if not without or not name.startswith(without)
        for batch in split_batches(files[name])
    )


def everybody_got_in(world: World) -> list[str]:
    """No caller was refused, and no statement of the deployment failed."""
    *senders, deployer = world.progress.results
    problems = []
    if any(errors for results in senders for errors in results):
        problems.append("a sender was refused")
    if any(errors for errors in deployer):
        problems.append("the deployment failed")
    return problems


def _passing(batches: tuple[str, ...], contract: str) -> tuple[str, ...]:
    return tuple(batch.replace(f"N'{V1}'", f"N'{contract}'") for batch in batches)


def rolled_out(
    before: Config = OLD,
    after: Config = BOTH,
    *,
    in_transaction: bool = False,
    warm: bool = True,
    cold: bool = True,
    rcsi: bool = False,
    contract: str = V1,
    batches: tuple[str, ...] | None = None,
) -> Scenario:
    """Callers, the readers of both queues and one deployment, in every order of their statements.

    contract: the version that callers pass. batches: what the deployment sends instead of the
    difference: a mistake to be caught.
    """
    clients, bodies = callers(in_transaction=in_transaction, warm=warm, cold=cold)
    clients = tuple(
        replace(
            client, batches=_passing(client.batches, contract), warm=_passing(client.warm, contract)
        )
        for client in clients
    )
    mode = "own transactions" if in_transaction else "autocommit"
    sent = difference(before, after) if batches is None else batches
    return Scenario(
        f"rollout of {after.contract.name} beside {len(clients)} callers in {mode}, "
        f"{'RCSI' if rcsi else 'RC'}",
        lambda: deployed(before, rcsi=rcsi),
        (*clients, Client("deployment", sent, DATABASE)),
        on_every_state=no_deadlock,
        at_the_end=all_of(
            accounted(bodies),
            end_of_stream_once,
            nothing_left_behind,
            no_orphan_dialog,
            everybody_got_in,
        ),
        in_one_go=frozenset({"TargetQueue", "InitiatorQueue"}),
        firings=0,
        statements_atomic=True,  # a deployment reads rows by the thousand
        notes=(TARGET_IN_ONE_GO,),
    )
