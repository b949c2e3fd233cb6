"""Verification names each thing that is not as the files make it, and what mends it."""

from __future__ import annotations

from typing import Any

import pytest

from redial.config import load
from redial.deploy import verify
from redial.deploy.apply import installation
from redial.paths import CONFIGS
from tests.installed import batches, rendered
from tests.product.combos.lab import DATABASE, empty_instance
from tests.product.combos.lab import Lab as Variant
from tests.product.combos.test_variants import VARIANTS
from tests.product.sql.lab import AUDIT, Lab, configured
from tests.product.sql.test_usp_QueueTrouble import ENDED

from .by_hand import Site
from .inside import Connection

DEPLOY = "redial deploy makes it so again."


def deploy_again(lab: Lab) -> None:
    """Every file once more, as redial deploy sends them."""
    files = rendered(lab.config)
    for name in installation(files):
        for sql in batches(files[name]):
            lab.sa.execute(sql)


def test_as_deployed_there_is_nothing_to_say():
    assert Site(Lab()).findings() == []


@pytest.mark.sampled(every=30, meets=("name",))
@pytest.mark.parametrize("name", [name for name, one in VARIANTS.items() if not one.comparison])
def test_every_variant_is_what_its_files_say(name):
    with empty_instance() as instance:
        lab = Variant(instance, VARIANTS[name].config)
        lab.deploy()
        assert verify(lab.config, lambda: Connection(instance, DATABASE)) == []


def test_nothing_installed_is_one_finding():
    lab = Lab()
    lab.sa.execute("CREATE DATABASE bare;")
    (line,) = [
        line
        for line in verify(lab.config, lambda: Connection(lab.instance, "bare"))
        if "schema" in line
    ]
    assert line == "in bare: there is no schema [audit] in this database. Next: redial deploy."


def test_with_notifications_a_fresh_installation_is_what_its_files_say():
    lab = Lab(configured(operations={"notify_queue_off": True}))
    assert Site(lab).findings() == []


def test_a_notification_whose_conversation_has_ended_is_named_and_a_deployment_makes_it_anew():
    lab = Lab(configured(operations={"notify_queue_off": True}))
    lab.sa.execute(ENDED)
    lines = Site(lab).findings()
    assert {line.split(" Next: ")[1] for line in lines} == {DEPLOY}
    assert any("conversation is off, not on" in line for line in lines), lines
    deploy_again(lab)
    assert Site(lab).findings() == []


def test_users_and_the_schema_may_be_spelled_as_the_database_takes_for_the_same():
    """They were there before, and the database does not tell the spellings apart."""
    lab = Lab()
    sections = {"roles": AUDIT.roles.model_copy(update={"sender": "AUDIT_Sender"})}
    other = AUDIT.model_copy(update={**sections, "schema_name": "Audit"})
    lines = verify(other, lambda: Connection(lab.instance, "lab"))
    # only texts differ: a deployment would write the new spelling into them
    assert {line.removeprefix("in lab: ").split()[0] for line in lines} == {
        "module",
        "deployment",
    }, lines


def test_who_may_not_see_definitions_is_told_which_right_is_missing():
    lab = Lab()
    lab.sa.execute("CREATE USER looker WITHOUT LOGIN;")

    def connect() -> Any:
        connection = Connection(lab.instance, "lab")
        connection.cursor().execute("EXECUTE AS USER = N'looker';")
        return connection

    lines = verify(load(CONFIGS / "audit.toml"), connect)
    assert any("GRANT VIEW DEFINITION TO [looker];" in line for line in lines), lines
    assert not any("is missing" in line for line in lines)
