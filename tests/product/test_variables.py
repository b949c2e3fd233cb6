"""sql/generated/redial.sqlcmd: the installer under a name of one's own, for people without Python."""

from __future__ import annotations

import re
from functools import cache

import pytest

from redial.cli.naming import renamed
from redial.cli.variables import FOLDER, SCRIPTS, SETTINGS, with_variables
from redial.config.load import parse
from redial.paths import GENERATED
from tests.installed import batches, rendered
from tests.product.combos.lab import DATABASE, Lab, empty_instance

NAMES = ["b", "billing", "shop-2_eu", "x" * 64]
TEXTS = cache(with_variables)


def as_sqlcmd_sends(script: str, /, **variables: str) -> list[str]:
    """The batches of a script, its variables replaced; what is not given stays as it is (go-sqlcmd)."""
    text = TEXTS()[script]
    for variable, value in variables.items():
        text = text.replace(f"$({variable})", value)
    return list(batches(text))


def bare(text: str) -> str:
    """A script without what may differ: layout, hash, line numbers, and what looks at the variables."""
    text = re.sub(
        r"/\* For sqlcmd.*?(?=DECLARE @plan|/\* Uninstall|/\* Removes|/\* Redial|/\* Who)",
        "",
        text,
        flags=re.S,
    )
    text = re.sub(r"CASE N'1' WHEN N'1' THEN 1 ELSE 0 END;\s+", "0; ", text)
    text = re.sub(r"the files of sql/generated/\S+", "the files of this folder", text)
    text = re.sub(r"(?<=\.sql'), \d+,", ", n,", re.sub(r"[0-9a-f]{64}", "hash", text))
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("name", NAMES)
def test_with_a_name_it_is_what_a_configuration_of_that_name_renders(name, script):
    """A length or an order that was worked out while rendering would differ here."""
    own = rendered(parse(renamed(name)))[script]
    sent = TEXTS()[script].replace("$(name)", name).replace("$(plan)", "1")
    assert bare(sent) == bare(own)


def test_what_is_committed_is_what_is_made_of_the_shipped_configuration():
    there = {path.name: path.read_text("utf-8") for path in (GENERATED / FOLDER).iterdir()}
    assert there == TEXTS()


def test_the_example_of_settings_sets_every_variable_there_is():
    used = {name for text in TEXTS().values() for name in re.findall(r"\$\((\w+)\)", text)}
    assert used == set(re.findall(r"^:setvar (\w+) ", SETTINGS, re.M)) == {"name", "plan"}
    assert SETTINGS.endswith(":r redial.sql\n")


@pytest.fixture
def lab():
    with empty_instance() as instance:
        yield Lab(instance, parse(renamed("billing")))


def run(lab: Lab, script: str, first: str = "", /, **variables: str) -> list[int]:
    session = lab.instance.connect(DATABASE)
    if first:
        session.execute(first).ok()
    numbers = []
    for sql in as_sqlcmd_sends(script, **variables):
        out = session.execute(sql)
        while not out.finished:
            lab.instance.advance(1)
        numbers += [error.number for error in out.errors]
        lab.said = [message.text for message in out.messages]
    session.close()
    return numbers


WRONG = ["Billing", "2nd", "a b", "a.b", "x" * 65, "$(other)", "ä"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_name_that_is_missing_or_none_is_refused_and_nothing_is_done(lab, script):
    assert run(lab, script, plan="0") == [50231]  # as go-sqlcmd sends it when name is not given
    assert "-v name=" in lab.said[-1]
    for wrong in WRONG:
        assert run(lab, script, name=wrong, plan="0") == [50231], wrong
    for broken in ("", "a'b", "a]b"):  # some batches cannot be compiled with it
        assert run(lab, script, name=broken, plan="0") != [], broken
    assert (
        lab.rows("SELECT name FROM sys.schemas WHERE principal_id > 4 AND schema_id < 16384;") == []
    )


@pytest.mark.parametrize("plan", ["", "yes", "2", "$(plan)"])
def test_a_plan_that_is_neither_0_nor_1_is_refused_and_nothing_is_done(lab, plan):
    assert run(lab, "redial.sql", name="billing", plan=plan) == [50231]
    assert lab.rows("SELECT name FROM sys.objects WHERE is_ms_shipped = 0;") == []


def test_under_a_name_of_ones_own_it_plans_installs_sends_and_goes(lab):
    assert run(lab, "redial.sql", name="billing", plan="1") == []
    assert "plan. To create" in lab.said[-1]
    assert lab.rows("SELECT name FROM sys.objects WHERE is_ms_shipped = 0;") == []
    assert run(lab, "redial.sql", name="billing", plan="0") == []
    assert "configuration billing: installed." in lab.said[-1]
    assert lab.rows("SELECT name FROM sys.services WHERE service_id > 65535 ORDER BY name;") == [
        ("//redial/billing/initiator",),
        ("//redial/billing/target",),
    ]
    lab.sa.execute(
        "EXECUTE billing.usp_Send N'//redial/billing/initiator', N'//redial/billing/target', "
        "N'//redial/billing/contract', N'//redial/billing/event', 0x01;"
    ).ok()
    lab.advance(5)
    landed = "SELECT COUNT(*) FROM billing.Landing WHERE MessageType = N'//redial/billing/event';"
    assert lab.rows(landed) == [(1,)]
    assert run(lab, "redial.sql", name="billing", plan="1") == []
    assert "To create 0, to alter 0" in lab.said[-1]
    assert run(lab, "uninstall.sql", name="billing") == []
    said = "EXECUTE sys.sp_set_session_context N'redial.purge_rows', 1000;"
    assert run(lab, "purge_data.sql", said, name="billing") == []
    assert lab.rows("SELECT name FROM sys.objects WHERE is_ms_shipped = 0;") == []
