"""What earlier choices or versions made: which of it the files' cleanup drops, and what stays for now."""

from __future__ import annotations

from collections.abc import Container

from redial.deploy.actions import EARLIER, Action
from redial.deploy.fingerprint import Thing
from redial.deploy.fingerprint.repair import tells_of_trouble
from redial.deploy.history import ATTEMPTS, TEXTS
from redial.deploy.live import Live, how_many
from redial.deploy.loss import left_behind
from redial.deploy.verify import Look


def earlier(
    one: Look, at_work: Live, listed: Container[str], allowed: Container[str]
) -> list[Action]:
    """Rows of a plan for what no file makes any more; a table with rows is among what can be lost.

    listed: contracts that are served on (contract.previous). allowed: tables that may be dropped with
    their rows.
    """
    if not one.installed:
        return []
    old = sorted(
        each for each in left_behind(one) if each.kind != "contract" or each.name not in listed
    )
    stays = {thing: why for thing in old if (why := _held(thing, at_work))}
    for thing in old:
        users = _users(thing, one)
        if thing.kind == "message type" and any(u not in old or u in stays for u in users):
            stays[thing] = "a contract that stays has it"
        if thing.kind == "queue" and any(u not in old or u in stays for u in users):
            stays[thing] = "a service that stays is on it"
    return [
        Action(
            "leave" if thing in stays else "drop",
            thing.kind,
            str(thing),
            one.database,
            EARLIER,
            f"{thing} is of an earlier choice or version"
            + (f", and {stays[thing]}: each deployment asks again" if thing in stays else ""),
            "",
            "",
        )
        for thing in old
        if thing.kind != "table" or (thing not in stays and thing.name not in allowed)
    ]


def _held(thing: Thing, at_work: Live) -> str:
    """What keeps it; empty: nothing."""
    if thing.kind == "table" and thing.name in (ATTEMPTS, TEXTS):
        return "a deployment writes into it"
    if thing.kind == "table" and (rows := at_work.rows.get(thing.name, 0)):
        return f"has {how_many(rows, 'row')}"
    if thing.kind == "queue" and (messages := at_work.depth.get(thing.name, 0)):
        return f"in it: {how_many(messages, 'message')}"
    if thing.kind == "contract" and (dialogs := at_work.contracts.get(thing.name, 0)):
        return f"on it: {how_many(dialogs, 'dialog')}"
    if thing.kind == "service" and (dialogs := at_work.services.get(thing.name, 0)):
        return f"open on it: {how_many(dialogs, 'dialog')}"
    return ""


def _users(thing: Thing, one: Look) -> list[Thing]:
    """Of a message type its contracts, of a queue the services that stay on it."""
    if thing.kind == "message type":
        return [
            Thing("contract", each.of)
            for each in one.found
            if each.kind == thing.kind and each.name == thing.name and each.of
        ]
    return [
        each
        for each, own in one.found.items()
        if thing.kind == "queue" and each.kind == "service" and own["queue"] == thing.name
        if one.wanted.get(each, own).get("queue") == thing.name and not tells_of_trouble(each)
    ]
