"""The page docs/howto/add-a-key.md: a key is one template and one file of cases, and no other file asks
which key it is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from enum import StrEnum
from pathlib import Path

import pytest

from redial.config import Config
from redial.config.variants import listing
from redial.paths import ROOT
from tests.choices import KEYS, PAIRS
from tests.words_of_keys import in_python, in_template, of_the_keys, unreached

FROZEN = {"tests/lab/proof/test_queue_only.py", "tests/product/render/test_queue_only.py"}
"""Tests of a text that is frozen, with the keys there were then."""

WHERE = (
    *("harness/redial", "harness/redial_lab", "harness/pyspark_servicebroker"),
    *("tests/lab", "tests/product", "tests/spark", "tools"),
)
"""Not the embedded broker, which must not know what a key is (import-linter), nor its tests."""


def asked_by_word(root: Path = ROOT) -> dict[str, list[str]]:
    """Templates and Python, but the keys' own files, where a key's word decides something."""
    quoted = re.compile("|".join(f"[\"']{key}[\"']|Key[.]{key.upper()}" for key in KEYS))
    files = [path for part in WHERE for path in (root / part).rglob("*.py")]
    files += (root / "tests").glob("*.py")
    files += [path for path in (root / "sql").rglob("*.j2") if not of_the_keys(path)]
    found = {}
    for path in files:
        text = path.read_text("utf-8")
        look = in_python if path.suffix == ".py" else in_template
        if quoted.search(text) or (path.suffix == ".j2" and "conversation.key" in text):
            found[path.relative_to(root).as_posix()] = look(text, KEYS)
    return {name: lines for name, lines in found.items() if lines}


def test_no_file_but_a_keys_own_asks_for_its_word():
    found = asked_by_word()
    assert {name: lines for name, lines in found.items() if name not in FROZEN} == {}


@pytest.mark.parametrize(
    "text",
    [
        "config.conversation.key == 'pool'",
        "key != 'spid'",
        "cell.key in ('spid', 'application')",
        "'single' not in {way}",
        "way in {*NEVER, 'pool'}",
        "{'pool': slots, 'single': 1}.get(self.key, 2)",
        "{'pool': 1}[key]",
        "config.conversation.key == Key('pool')",
        "made = Key.POOL",
        "KEYS = ['spid', 'pool', 'single']",
        "KEYS = [('spid', 1), ('pool', 2), ('single', 3)]",
        "KEYS = {'spid': 1, 'pool': 2, 'single': 3}",
        "match key:\n    case 'pool': pass",
    ],
)
def test_a_question_by_a_word_is_found_in_python(text):
    assert in_python(text, KEYS) != []


@pytest.mark.parametrize(
    "text",
    [
        "Stage('pool')",
        "configured(conversation={'key': 'pool'})",
        "kind == 'message'",
        "key == 'k1'",
        "every_key()[key].slots",
        "PAIR = ('spid', 'pool')",
    ],
)
def test_a_configuration_with_a_key_is_no_question(text):
    assert in_python(text, KEYS) == []


@pytest.mark.parametrize(
    "text",
    [
        '{% if c.conversation.key == "pool" %}',
        "{% if c.conversation.key.value in others %}",
        "{# when: c.conversation.key == words[0] #}",
        "{{ 'x' if kind == 'single' }}",
    ],
)
def test_a_question_by_a_word_is_found_in_a_template(text):
    assert in_template(text, KEYS) != []
    assert in_template("{{ c.conversation.key }} /* pool */ N'pool' {{ c.pool.size }}", KEYS) == []


def test_every_key_has_the_procedures_it_calls():
    assert unreached(PAIRS) == {}


def test_the_searches_know_which_keys_have_rows():
    """The searches' own lists of keys with a row, and without."""
    from redial_lab.proof import matrix

    for cell in matrix.every_cell():
        config = cell.setup(matrix.STORIES["first"]).config
        assert matrix._with_rows(cell) == config.traits.has_rows, cell.key


def test_every_key_and_every_choice_is_a_variant():
    made = [variant.config.conversation for variant in listing().variants]
    for name, kind in Config.model_fields["conversation"].annotation.model_fields.items():
        if isinstance(kind.annotation, type) and issubclass(kind.annotation, StrEnum):
            assert {getattr(one, name) for one in made} == set(kind.annotation), name


HOST = """{#
# The sessions of one computer share a dialog.
place = 6000
meaning = "one per computer"
choose = "Sessions of one computer wait for each other."
base = "with_row"
shared = true
#}
{% macro value() %}CONVERT(nvarchar(200), HOST_NAME()){% endmacro %}
"""
CASE = """
stored = "HOST_NAME()"
same = 1
apart = 1
waits = "KEY"
"""
LISTED = """
from pathlib import Path
from redial.config import Config
from redial.config.variants import listing, merged
from redial.render import render
from redial_lab.pages import keys
from tests import choices, key_cases
from tests.product.config.test_options import unexplained

assert "made_up" in choices.KEYS and "made_up" in choices.PLAIN
assert {variant.recycle for variant in listing().variants if variant.key == "made_up"} == {
    "never", "timer", "aged_out"}
assert "| `made_up` | one per computer |" in keys.page(), "what invoke pages writes"
assert "conversation.key = made_up" in unexplained(Path("sql/configs/audit.toml").read_text())
assert unexplained(keys.audit_toml()) == [], "what invoke pages writes"
assert choices.TRAITS.keys() - key_cases.CASES.keys() == {"made_up"}, "its cases are missed"
files = {key: render(Config.model_validate(merged({"conversation": {"key": key}})))
         for key in ("spid", "made_up")}
assert files["spid"].keys() == files["made_up"].keys()
before, after = (
    {line.strip() for name, text in made.items()
     if name[:2].isdigit() and not name.startswith(("81_modules", "90"))
     for line in text.split("\\n")}
    for made in files.values()
)
print(*sorted(line for line in after - before if "key = made_up" not in line), sep="\\n")
"""
WORKS = """
from pathlib import Path
from tests import installed, key_cases
from tests.product.callers import test_keys
from tests.product.sql import test_operations_by_key as by_key
from tests.words_of_keys import unreached

assert unreached([("made_up", "timer")]) == {}
Path("tests/product/keys/made_up.toml").write_text(CASE)
key_cases.CASES.update(key_cases.read())
test_keys.test_each_key_has_a_file_of_cases_and_each_file_a_key()
test_keys.test_two_callers_begin_as_many_dialogs_as_they_share_none_of("made_up", ("a", "a"), "same")
test_keys.test_two_callers_begin_as_many_dialogs_as_they_share_none_of("made_up", ("a", "b"), "apart")
test_keys.test_the_row_of_a_caller_has_the_key_its_case_says("made_up")
test_keys.test_whoever_shares_a_dialog_waits_for_what_its_case_says("made_up")
test_keys.test_the_traits_of_a_key_are_what_its_case_shows("made_up")

# Deployed, sent, landed, drained, opened, sent again; quiet, nothing leaks; recycled by its timer.
by_key.test_a_drain_waits_for_a_sender_closes_all_and_the_gate_opens_again("made_up")
installed.take_back()
by_key.test_health_is_quiet_with_every_key("made_up")
installed.take_back()
lab = by_key.lab_with("made_up")
by_key.Client(lab).execute(by_key.send("0x01"))
assert by_key.leaked(lab) == [] and len(lab.rows("SELECT * FROM audit.SessionConversations;")) == 1
lab.advance(5000)
assert [state for state, _ in lab.endpoints()] == ["CD"] and lab.bodies() == [b"\\x01"]
assert lab.rows("SELECT * FROM audit.SessionConversations;") == []
print("works")
"""


def linked(folder: Path, *real: str) -> None:
    """A clone whose files are ours, but for the folders named, which are copies to write to."""
    for part in ("harness", "docs", "evidence", "sql", "tests", "CONTRIBUTING.md", "mkdocs.yml"):
        _link(ROOT, folder, part, {Path(name) for name in real})


def _link(source: Path, target: Path, part: str, real: set[Path]) -> None:
    path = Path(part)
    if path in real:
        shutil.copytree(source / path, target / path)
    elif any(path in other.parents for other in real):
        (target / path).mkdir()
        for child in (source / path).iterdir():
            _link(source, target, (path / child.name).as_posix(), real)
    else:
        (target / path).symlink_to(source / path)


def with_host(folder: Path, script: str) -> list[str]:
    """What a script prints in such a clone, which has the template of one key more."""
    linked(folder, "sql/templates/keys", "tests/product/keys")
    (folder / "sql/templates/keys/made_up.inc.j2").write_text(HOST, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", f"CASE = {CASE!r}\n{script}"],
        cwd=folder,
        env={"PYTHONPATH": f"{folder / 'harness'}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_list_has_a_new_key_and_its_text_differs_in_its_own_words(tmp_path):
    """The first step of the page, beside our files: its template, and nothing else."""
    assert with_host(tmp_path, LISTED) == [
        "(N'conversation.key', N'made_up', 1),",
        "@conversationKey = CONVERT(nvarchar(200), HOST_NAME()),",
        "VALUES (1, CONVERT(nvarchar(200), HOST_NAME()));",
    ]


def test_a_new_key_works_with_its_template_and_its_cases_alone(tmp_path):
    """Both steps of the page: deployed on the embedded broker, sent, recycled, landed, drained."""
    assert with_host(tmp_path, WORKS) == ["works"]
    assert not (ROOT / "sql/templates/keys/made_up.inc.j2").exists()
