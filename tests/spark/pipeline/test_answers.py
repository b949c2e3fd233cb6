"""The audit's exit status: 1 is a loss and nothing else is, whatever goes wrong on the way."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from argparse import Namespace

import pytest

from redial.paths import SOURCES
from redial.spark import audit as command
from redial.spark.answers import NO_VERDICT, status_of_verdict, tell
from redial.spark.audit import answer, show
from redial.spark.audit_report import Report
from redial.spark.errors import PipelineError

LOSS, CLEAN = Report(lost=3), Report(landed=5)


def chosen(**files) -> Namespace:
    return Namespace(**({"json": None, "html": None, "strict": False} | files))


@pytest.fixture
def nowhere(tmp_path):
    """A path that cannot be written, for root neither: below a file."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "page"


# --- what is found is told, each part though another fails --------------------------------------


@pytest.mark.parametrize(("report", "status"), [(LOSS, 1), (CLEAN, 2)], ids=["loss", "clean"])
@pytest.mark.parametrize("which", ["html", "json"])
def test_a_file_that_cannot_be_written_is_2_and_a_loss_stays_1(
    report, status, which, nowhere, capsys
):
    assert tell(report, chosen(**{which: nowhere}), show) == status
    said = capsys.readouterr()
    assert report.verdict() in said.out, "the terminal has the verdict all the same"
    assert f"--{which} {nowhere} could not be written" in said.err and "Next: " in said.err
    assert f"the verdict stands: {report.verdict()}" in said.err


def test_the_figures_are_there_first_then_the_table_and_then_the_page(
    nowhere, tmp_path, monkeypatch
):
    """Each part looks what is there when its turn comes."""
    figures, seen = tmp_path / "new folder" / "audit.json", []
    monkeypatch.setattr(
        "redial.spark.audit_page.write_page",
        lambda report, path: seen.append(("page", figures.exists())),
    )
    shown = lambda console, report: seen.append(("table", figures.exists()))  # noqa: E731
    assert tell(LOSS, chosen(json=figures, html=nowhere), shown) == 1
    assert seen == [("table", True), ("page", True)]
    assert json.loads(figures.read_text(encoding="utf-8"))["lost"] == 3


def test_a_repeat_is_1_only_when_strict_and_all_is_written(tmp_path):
    repeated = Report(repeated=1)
    files = {"json": tmp_path / "a.json", "html": tmp_path / "a.html"}
    assert tell(repeated, chosen(**files), show) == 0
    assert tell(repeated, chosen(**files, strict=True), show) == 1


@pytest.mark.parametrize("show", ["audit.show", "lambda console, report: print(report)"])
@pytest.mark.parametrize(("lost", "status"), [(1, 1), (0, 2)])
def test_a_terminal_that_takes_nothing_changes_no_loss(lost, status, show):
    """A process of its own: what Python does at its end with what was not written is 120."""
    script = (
        "from argparse import Namespace\n"
        "from redial.spark import audit\n"
        "from redial.spark.answers import tell\n"
        "from redial.spark.audit_report import Report\n"
        "chosen = Namespace(json=None, html=None, strict=False)\n"
        f"raise SystemExit(tell(Report(lost={lost}), chosen, {show}))\n"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={"PYTHONPATH": str(SOURCES)},
        )
    assert done.returncode == status, done.stderr
    assert "the terminal could not be written" in done.stderr
    assert f"the verdict stands: {Report(lost=lost).verdict()}" in done.stderr


def test_a_terminal_that_does_not_know_a_letter_takes_the_verdict_from_standard_error(
    monkeypatch, capsys
):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert tell(Report(lost=1, label="Größe"), chosen(), show) == 1
    assert "the verdict stands: LOSS: 1" in capsys.readouterr().err


# --- no verdict ---------------------------------------------------------------------------------


def raising(error):
    def raise_it(*_, **__):
        raise error

    return raise_it


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("a defect"), ["a defect of ours", "Traceback", "KeyError"]),
        (PermissionError(13, "Permission denied", "/x"), ["/x: Permission denied", "Next: "]),
        (ConnectionRefusedError(111, "Connection refused"), ["Connection refused", "Next: "]),
        (
            PipelineError("Java", "is not installed", "install it"),
            ["Java: is not", "Next: install"],
        ),
        (KeyboardInterrupt(), ["interrupted"]),
        (MemoryError(), ["MemoryError"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_whatever_is_raised_is_2_and_said(error, words, capsys):
    assert status_of_verdict(raising(error)) == NO_VERDICT
    said = capsys.readouterr().err
    assert [word for word in words if word not in said] == []


def test_what_breaks_in_the_middle_of_the_audit_is_2(monkeypatch, capsys, tmp_path):
    """Break any part of it: what is looked at, and what is made of it."""
    for part in ("parser", "audit", "configuration"):
        with monkeypatch.context() as broken:
            broken.setattr(command, part, raising(ZeroDivisionError("broken")))
            broken.setattr("redial.spark.session.spark_session", lambda name: None)
            broken.setattr("redial.spark.sources.sources", lambda *_: Namespace(**FOUND))
            arguments = ["--landed", str(tmp_path), "--config", "audit"]
            if part != "configuration":
                arguments = arguments[:2]
            assert answer(arguments) == NO_VERDICT, part
        assert "ZeroDivisionError: broken" in capsys.readouterr().err, part


FOUND = {
    "rows": None,
    "log": None,
    "dead": None,
    "dropped": 0,
    "label": "",
    "end_of_stream": "EndOfStream",
    "horizon": None,
}
"""Sources of which nothing is looked at."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["--json"],
        ["--since", "morning"],
        ["--schema", "a", "--config", "b"],
        ["word"],
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        answer(arguments)
    assert stop.value.code == NO_VERDICT
    assert "error: " in capsys.readouterr().err


def test_outside_a_project_folder_a_configuration_is_2_and_the_schema_is_named_as_the_way(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    assert answer(["--config", "audit", "--landed", str(tmp_path)]) == NO_VERDICT
    said = capsys.readouterr().err
    assert "configuration audit" in said and "sql/configs" in said and "--schema" in said


def test_nothing_to_look_at_is_2_before_spark_starts(monkeypatch, capsys):
    monkeypatch.delenv("REDIAL_SERVER", raising=False)
    monkeypatch.setattr("redial.spark.session.spark_session", raising(AssertionError("started")))
    assert answer([]) == NO_VERDICT
    assert "there is nothing to look at" in capsys.readouterr().err


# --- with Spark ---------------------------------------------------------------------------------


@pytest.mark.jvm
def test_files_that_are_not_there_or_not_parquet_are_2_without_a_traceback(spark, tmp_path, capsys):
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "part-0.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "empty").mkdir()
    for name in ("torn", "empty", "absent"):
        assert answer(["--landed", str(tmp_path / name)]) == NO_VERDICT, name
        said = capsys.readouterr().err
        assert "Next: " in said and "Traceback" not in said and "\tat " not in said, said


@pytest.mark.jvm
def test_what_breaks_in_java_while_rows_are_counted_is_2_in_one_line(spark, tmp_path, capsys):
    """Whole when it is looked at first, torn when its rows are read."""
    place = str(tmp_path / "landed")
    rows = spark.range(3).selectExpr("'A' conversation", "id sequence", "'event' type")
    rows.coalesce(1).write.parquet(place)
    (part,) = (tmp_path / "landed").glob("part-*.parquet")
    whole = part.read_bytes()
    part.write_bytes(b"\x00" * 60 + whole[60:])
    assert answer(["--landed", place]) == NO_VERDICT
    said = capsys.readouterr().err
    assert "Next: " in said and "Traceback" not in said and len(said.splitlines()) <= 3, said


@pytest.mark.jvm
def test_files_whose_end_has_another_name_say_so_until_it_is_named(spark, tmp_path, capsys):
    place, figures = str(tmp_path / "landed"), tmp_path / "audit.json"
    rows = [("A", n, "TheEnd" if n == 2 else "event") for n in range(3)]
    spark.createDataFrame(rows, "conversation string, sequence bigint, type string").write.parquet(
        place
    )
    assert answer(["--landed", place]) == 0
    assert "no row of type EndOfStream landed" in " ".join(capsys.readouterr().out.split())
    named = ["--landed", place, "--end-of-stream", "TheEnd", "--json", str(figures)]
    assert answer(named) == 0
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert found["complete"] == 1 and not [n for n in found["notes"] if "of type" in n]
