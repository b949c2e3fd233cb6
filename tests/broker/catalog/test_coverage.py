"""The generated coverage page."""

import pytest

from redial_broker.catalog.coverage import page
from redial_broker.catalog.views import DECLARED
from redial_broker.instance.instance import Instance


def test_every_view_and_every_mark_is_on_the_page():
    text = page()
    for view in DECLARED.values():
        assert f"### {view.schema}.{view.name}" in text
    assert "- refused: cpu_time" in text
    assert "service_contract_id = 0" in text


@pytest.mark.parametrize("name", ["syscolumns", "dbo.syscolumns", "sys.dm_os_wait_stats"])
def test_a_view_only_a_server_has_is_refused_by_name(name):
    out = Instance().connect().execute(f"SELECT * FROM {name};")
    assert out.error().number == 60001
    assert f"the system view {name.rpartition('.')[2]}" in out.error().text


def test_a_name_no_server_has_is_not_found():
    assert Instance().connect().execute("SELECT * FROM sys.nonsense;").error().number == 208


def test_the_page_is_the_same_every_time():
    assert page() == page()
