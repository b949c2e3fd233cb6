"""What is searched of a case in which mutants are hunted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from redial.config import Config
from redial_lab.explore.checks import no_deadlock, nothing_left_behind
from redial_lab.explore.scenario import Client, Scenario
from redial_lab.explore.world import World
from redial_lab.proof.audit_setups import DATABASE, TIDY
from redial_lab.proof.cases import CaseText
from redial_lab.proof.setups import Setup


def scenario(case: CaseText) -> tuple[Scenario, Config]:
    """What is searched without a mutant, and its configuration."""
    setup = Setup.parse(case.setup)
    made = setup.scenario()
    client = made.clients[0]
    first = replace(
        client,
        batches=case.batches or client.batches,
        **cast("dict[str, Any]", {"on_cancel": "", "on_error": ""} if case.untidy else {}),
    )
    changes: dict[str, Any] = {"listens": case.listens}  # of a ``Scenario``, each its own type
    if case.in_one_go:
        changes |= {"in_one_go": frozenset({"InitiatorQueue", "TargetQueue"})}
    if case.batches or case.others or not case.claims:
        changes |= {
            "at_the_end": _nothing if case.locks_may_stay else nothing_left_behind,
            "account": None,
        }
    if not case.claims:
        changes |= {"on_every_state": _nothing if case.deadlocks_allowed else no_deadlock}
    clients = (first, *made.clients[1:])
    if case.before:
        clients = tuple(
            replace(client, batches=tuple(f"{case.before} {text}" for text in client.batches))
            for client in clients
        )
    clients += tuple(
        Client(f"somebody {number}", (text,), DATABASE, (), TIDY, TIDY)
        for number, text in enumerate(case.others, 1)
    )
    return replace(made, clients=clients, **changes), _config(setup, case)


def _nothing(_: World) -> list[str]:
    return []


def _config(setup: Setup, case: CaseText) -> Config:
    if not case.choices:
        return setup.config
    data = setup.config.model_dump(by_alias=True, mode="json")
    for section, name, value in case.choices:
        data[section][name] = value
    return Config.model_validate(data)
