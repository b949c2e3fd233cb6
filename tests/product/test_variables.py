"""``redial render --sqlcmd``: the files under a name of one's own, for people without Python."""

from __future__ import annotations

import re
from functools import cache

import pytest

from redial.cli.errors import UserError
from redial.cli.naming import renamed
from redial.cli.variables import SETTINGS, with_variables, write
from redial.config.load import parse
from redial.render.modules import FINISH, PREFLIGHT
from tests.installed import batches, rendered
from tests.product.combos.lab import DATABASE, Lab, empty_instance

NAMES = ["b", "billing", "shop-2_eu", "x" * 64]
TEXTS = cache(with_variables)
FILES = [name for name in with_variables() if re.fullmatch(r"\d_\w+\.sql", name)]
SCRIPTS = [*FILES, "uninstall.sql", "purge_data.sql", "permissions_report.sql"]


def as_sqlcmd_sends(script: str, /, **variables: str) -> list[str]:
    """The batches of a script, its variables replaced; what is not given stays as it is (go-sqlcmd)."""
    text = TEXTS()[script]
    for variable, value in variables.items():
        text = text.replace(f"$({variable})", value)
    return list(batches(text))


def bare(text: str) -> str:
    """A script without what may differ: layout, hash, and what looks at the variable."""
    text = re.sub(r"/\* For sqlcmd.*?SET NOEXEC ON;\nGO\n", "", text, flags=re.S)
    text = re.sub(r"/\* Is all there.*?THROW 50220.*?END;\n", "", text, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"[0-9a-f]{64}|(?<=N')[0-9a-f]{16}(?= )", "hash", text))


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("name", NAMES)
def test_with_a_name_it_is_what_a_configuration_of_that_name_renders(name, script):
    """A length or an order that was worked out while rendering would differ here."""
    own = rendered(parse(renamed(name)))[script]
    assert bare(TEXTS()[script].replace("$(name)", name)) == bare(own)


def test_they_are_written_into_an_empty_folder_only(tmp_path):
    assert set(write(tmp_path / "new")) == set(TEXTS())
    there = {path.name: path.read_text("utf-8") for path in (tmp_path / "new").iterdir()}
    assert there == TEXTS()
    with pytest.raises(UserError, match="is there already"):
        write(tmp_path / "new")


def test_the_example_of_settings_sets_the_variable_and_runs_every_file():
    used = {name for text in TEXTS().values() for name in re.findall(r"\$\((\w+)\)", text)}
    assert used == set(re.findall(r"^:setvar (\w+) ", TEXTS()[SETTINGS], re.M)) == {"name"}
    assert re.findall(r"^:r (\S+)$", TEXTS()[SETTINGS], re.M) == FILES
    assert (FILES[0], FILES[-1]) == (PREFLIGHT, FINISH)


@pytest.fixture
def lab():
    with empty_instance() as instance:
        yield Lab(instance, parse(renamed("billing")))


def run(lab: Lab, script: str, first: str = "", /, **variables: str) -> list[int]:
    session = lab.instance.connect(DATABASE)
    if first:
        session.execute(first).ok()
    numbers, lab.said = [], []
    for sql in as_sqlcmd_sends(script, **variables):
        out = session.execute(sql)
        while not out.finished:
            lab.instance.advance(1)
        numbers += [error.number for error in out.errors]
        lab.said += [message.text for message in out.messages]
    session.close()
    return numbers


WRONG = ["Billing", "2nd", "a b", "a.b", "x" * 65, "$(other)", "ä"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_name_that_is_missing_or_none_is_refused_and_nothing_is_done(lab, script):
    assert run(lab, script)[0] == 50231  # as go-sqlcmd sends it when name is not given
    assert "-v name=" in lab.said[0]
    for wrong in WRONG:
        assert run(lab, script, name=wrong)[0] == 50231, wrong
    for broken in ("", "a'b", "a]b"):  # some batches cannot be compiled with it
        assert run(lab, script, name=broken) != [], broken
    assert (
        lab.rows("SELECT name FROM sys.schemas WHERE principal_id > 4 AND schema_id < 16384;") == []
    )


def test_under_a_name_of_ones_own_it_installs_sends_and_goes(lab):
    for _ in range(2):
        assert [number for file in FILES for number in run(lab, file, name="billing")] == []
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
    assert run(lab, "uninstall.sql", name="billing") == []
    said = "EXECUTE sys.sp_set_session_context N'redial.purge_rows', 1000;"
    assert run(lab, "purge_data.sql", said, name="billing") == []
    assert lab.rows("SELECT name FROM sys.objects WHERE is_ms_shipped = 0;") == []
