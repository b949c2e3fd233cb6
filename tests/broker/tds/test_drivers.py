import sys
from pathlib import Path

import pytest

from redial import odbc
from redial_broker.tds import drivers


def test_canary_the_odbc_driver_is_where_the_package_puts_it():
    """Fails when mssql-python-odbc changes its layout; the error's text names the fix."""
    pytest.importorskip("mssql_python_odbc")
    assert Path(odbc.odbc_driver()).is_file()


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mssql_python_odbc", None)
    with pytest.raises(odbc.DriverNotFound, match="pip install mssql-python-odbc"):
        odbc.odbc_driver()


def test_a_changed_layout_is_explained(monkeypatch):
    pytest.importorskip("mssql_python_odbc")
    monkeypatch.setattr(odbc, "find_driver", lambda _: None)
    with pytest.raises(odbc.DriverNotFound, match="layout has changed"):
        odbc.odbc_driver()


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("ID=debian", "debian_ubuntu"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"', "rhel"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"', "suse"),
        ("ID=alpine", "alpine"),
        ("", "debian_ubuntu"),
    ],
)
def test_the_build_of_the_own_distribution_is_recognised(text, family):
    assert odbc.linux_family(text) == family


def test_only_a_driver_of_this_machine_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(odbc.platform, "machine", lambda: "x86_64")
    for machine in ("arm64", "x86_64"):
        directory = tmp_path / "linux" / "rhel" / machine / "lib"
        directory.mkdir(parents=True)
        (directory / "libmsodbcsql-18.9.so.1").touch()
    assert "x86_64" in odbc.find_driver(tmp_path).parts
    monkeypatch.setattr(odbc.platform, "machine", lambda: "riscv64")
    assert odbc.find_driver(tmp_path) is None


def test_passwords_are_quoted_in_both_forms():
    odbc = drivers.odbc_connection_string(1433, "sa", "a;b}c", driver="x.so")
    assert "Driver={x.so};Server=127.0.0.1,1433;Database=master;UID=sa;PWD={a;b}}c};" in odbc
    assert "password={a;b}}c};" in drivers.jdbc_url(1433, "sa", "a;b}c")
