"""Which versions of PySpark the nightly run tries: those of pyproject.toml, written nowhere else."""

from __future__ import annotations

import pytest

from redial.paths import ROOT
from tools import spark_smoke


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder with what the tool reads."""

    def made(bounds: str, locked: str) -> None:
        (tmp_path / "pyproject.toml").write_text(f'spark = ["pyspark{bounds}"]\n')
        lock = tmp_path / "lock.txt"
        lock.write_text(f"# all\npy4j==0.10\npyspark=={locked}\nwrapt==2\n")
        monkeypatch.setattr(spark_smoke, "ROOT", tmp_path)
        monkeypatch.setattr(spark_smoke, "SPARK_LOCK", lock)

    return made


def test_every_minor_version_is_tried_but_the_one_the_suite_itself_runs_on(clone):
    clone(">=4.0,<4.4", "4.2.1")
    assert spark_smoke.others() == ["4.0", "4.1", "4.3"]


@pytest.mark.parametrize("bounds", [">=3.5,<4.4", "==4.3.0", ">=4,<5"])
def test_bounds_it_cannot_read_are_refused(clone, bounds):
    clone(bounds, "4.3.0")
    with pytest.raises(ValueError, match="Next: adapt BOUNDS"):
        spark_smoke.others()


def test_a_minor_version_is_its_newest_patch_and_the_other_packages_are_the_locked_ones(clone):
    clone(">=4.0,<4.4", "4.2.1")
    assert spark_smoke.spark_lock("4.0") == ["pyspark~=4.0.0", "wrapt==2"]
    assert spark_smoke.spark_lock("4.0.1") == ["pyspark==4.0.1", "wrapt==2"]


def test_the_status_is_that_of_the_first_version_that_failed_and_all_are_tried(monkeypatch, capsys):
    tried: list[tuple[str, list[str]]] = []

    def tested(version: str, rest: list[str]) -> int:
        tried.append((version, rest))
        return {"4.0": 0, "4.1": 1, "4.2": 5}[version]

    monkeypatch.setattr(spark_smoke, "tested", tested)
    assert spark_smoke.main(["4.0", "4.1", "4.2", "-x"]) == 1
    assert tried == [(one, ["-x"]) for one in ("4.0", "4.1", "4.2")]
    assert "PySpark 4.1: pytest says 1" in capsys.readouterr().out


def test_of_this_clone_the_oldest_allowed_version_is_among_them_and_the_nightly_run_asks():
    assert spark_smoke.others()[0] == "4.0"
    assert "tools/spark_smoke.py" in (ROOT / ".ci" / "nightly").read_text(encoding="utf-8")
