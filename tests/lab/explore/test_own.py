"""A user's own T-SQL and invariants: the two examples of docs/explorer-files.md, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redial.paths import ROOT
from redial.render import render
from redial_lab.explore import Limits, queries, search, shortest, world
from redial_lab.explore.queries import ask
from redial_lab.explore.user_files import OwnError, load
from redial_lab.explore.world import EndlessError, World
from redial_lab.proof.audit_setups import small_config

EXAMPLES = ROOT / "sql" / "examples"


@pytest.mark.parametrize(
    ("file", "violations"),
    [
        ("forum/transaction", {"deadlock"}),
        ("forum/autocommit", {"acknowledged message lost"}),
        ("tickets/first_try", {"tickets from nowhere"}),
        ("tickets/mended", set()),
    ],
)
def test_an_example_is_searched_to_its_end_and_found_as_documented(file, violations):
    scenario, bounds = load(EXAMPLES / f"{file}.toml")
    result = search(scenario, Limits(transitions=bounds.transitions))
    print(result)
    assert (set(result.violations), result.ended) == (violations, True)
    page = (EXAMPLES.parents[1] / "docs" / "explorer-files.md").read_text(encoding="utf-8")
    assert f"{result.states:,} states" in page, result.states
    for violation in result.violations.values():
        assert 0 < len(shortest(scenario, violation).path) <= 30


def statements(text: str) -> list[str]:
    """Without comments and blanks; the schema is dbo."""
    plain = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("[audit].", "[dbo].")
    return plain.split()


def test_seed_002_s_procedures_are_the_same_text_as_in_the_comparison():
    shown = render(small_config(), mutant="forum_pair")
    names = (
        "72_usp_SendMessage.procedure.sql",
        "74_03_usp_BrokerHandleInitiator.procedure.sql",
        "74_04_usp_InitiatorQueueHandler.procedure.sql",
    )
    theirs = [word for name in names for word in statements(shown[name])]
    ours = statements((EXAMPLES / "forum/procedures.sql").read_text(encoding="utf-8"))
    header = ["SET", "ANSI_NULLS", "ON;", "SET", "QUOTED_IDENTIFIER", "ON;", "GO"]
    text = " ".join(theirs).replace(" ".join(header) + " ", "")
    assert ours == header + text.split()


# ---------------------------------------------------------------------- what is refused
SCRIPT = "CREATE DATABASE d;\nGO\nUSE d;\nGO\nCREATE TABLE dbo.t (n int NOT NULL);\n"
FILE = """
name = "mine"
database = "d"
scripts = ["setup.sql"]
[[session]]
name = "a"
batches = ["INSERT dbo.t VALUES (1);"]
"""


def written(folder: Path, more: str = "", script: str = SCRIPT, file: str = FILE) -> Path:
    (folder / "setup.sql").write_text(script, encoding="utf-8")
    (folder / "mine.toml").write_text(file + more, encoding="utf-8")
    return folder / "mine.toml"


def test_every_wrong_key_is_told_at_once(tmp_path):
    wrong = FILE.replace('name = "mine"\n', "").replace("batches", "batch")
    file = written(tmp_path, file=wrong)
    with pytest.raises(OwnError) as refused:
        load(file)
    told = refused.value.problems
    assert {"name", "session.1.batches"} <= {line.split(":")[0] for line in told}
    assert "session.1.batch: there is no such key; did you mean batches?" in told


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[[fault]]\nkind = "meteor"\n', "fault meteor: allowed: kill, cancel"),
        ('[[fault]]\nkind = "kill"\nwho = "b"\n', "who: 'b' is no session; allowed: reader, a"),
        ('[[fault]]\nkind = "kill"\n[[fault]]\nkind = "kill"\n', "each kind once"),
        ('[[fault]]\nkind = "restart"\nwho = "a"\n', "restart: strikes the server; leave out who"),
        ('[[fault]]\nkind = "kill"\nsql = "SELECT 1;"\n', "kill: has a meaning of its own"),
        ('[[fault]]\nkind = "kill"\nat_once = true\n', "kill: at_once belongs to sql"),
        ('[switches]\nrelaunch = "never"\n', "switch relaunch: 'never' is none of its values"),
        ('[[invariant]]\nname = "i"\nsql = "SELECT x FROM dbo.t;"\n', "invariant 'i': Msg 207"),
        ('[accounting]\nlanded = "SELECT x FROM dbo.t;"\n', "accounting landed: Msg 207"),
        ('[[fault]]\nkind = "op"\nsql = "SELECT FROM;"\n', "fault op: line 1: Msg 156"),
        ('[search]\nin_one_go = ["nix"]\n', "in_one_go: no queue nix; there are: "),
        ('[[invariant]]\nname = "*/\\nGO"\nsql = "SELECT 1;"\n', "a character that is not printed"),
        (
            '[[session]]\nname = "b"\nbatches = ["SELECT 1;", "SELECT 1 FROM;"]\n',
            "b: batch 2: line 1: Msg ",
        ),
    ],
    ids=[
        *("fault", "who", "twice", "server", "sql", "at once", "switch", "invariant", "accounting"),
        *("syntax of a fault", "queue", "line end", "syntax"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_what_is_allowed(tmp_path, more, said):
    with pytest.raises(OwnError, match=re.escape(said)):
        load(written(tmp_path, more))


def test_an_error_of_a_script_names_its_line(tmp_path):
    with pytest.raises(OwnError, match=r"setup\.sql, line 6: Msg 208"):
        load(written(tmp_path, script=SCRIPT + "SELECT * FROM dbo.nobody;\n"))


@pytest.mark.parametrize(
    ("name", "said"), [("other.sql", "there is no such file"), ("..", "is a folder")]
)
def test_a_missing_script_is_named(tmp_path, name, said):
    with pytest.raises(OwnError, match=re.escape(f"scripts: {name}: {said}")):
        load(written(tmp_path, file=FILE.replace("setup.sql", name)))


def test_a_database_that_no_script_makes_is_named(tmp_path):
    with pytest.raises(OwnError, match="database: e: Msg 911"):
        load(written(tmp_path, file=FILE.replace('database = "d"', 'database = "e"')))


def test_a_script_that_never_ends_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(world, "LONGEST", 10)
    with pytest.raises(OwnError, match=r"setup\.sql, line 7: it has run 10 thousand statements"):
        load(written(tmp_path, script=SCRIPT + "GO\nWHILE 1 = 1 PRINT 'x';\n"))
    with pytest.raises(OwnError, match="it has run 10 thousand statements"):
        load(written(tmp_path, 'warm = ["WHILE 1 = 1 PRINT 1;"]'))


def test_a_batch_that_goes_in_circles_of_its_own_ends_the_search_with_its_name(tmp_path):
    loop = "DECLARE @i int = 0; WHILE 1 = 1 SET @i += 1;"
    file = written(tmp_path, file=FILE.replace("INSERT dbo.t VALUES (1);", loop))
    with pytest.raises(
        EndlessError, match=r"a: .*WHILE 1 = 1.*statements that nobody else can see"
    ):
        search(load(file)[0])


# ---------------------------------------------------------------------- what a file can say
def test_an_operator_s_statements_are_one_step_where_the_file_says_so(tmp_path):
    """He counts before and after: apart, a session comes in between."""
    counts = (
        '[[fault]]\nkind = "count"\nsql = "DECLARE @n int = (SELECT COUNT(*) FROM dbo.t); '
        'IF @n <> (SELECT COUNT(*) FROM dbo.t) INSERT dbo.t VALUES (2);"\n'
    )
    check = '[[invariant]]\nname = "between"\nsql = "SELECT n FROM dbo.t WHERE n = 2;"\n'
    for at_once, violations in (("", {"between"}), ("at_once = true\n", set())):
        scenario = load(written(tmp_path, counts + at_once + check))[0]
        assert set(search(scenario).violations) == violations


def test_a_batch_may_send_several_messages(tmp_path):
    two = FILE.replace("(1);", "(1), (2);") + 'sends = [["1", "2"]]\n'
    for kept, violations in (("", set()), (" WHERE n = 1", {"acknowledged message lost"})):
        landed = f'[accounting]\nlanded = "SELECT n FROM dbo.t{kept};"\n'
        scenario = load(written(tmp_path, landed, file=two))[0]
        assert set(search(scenario).violations) == violations


# ---------------------------------------------------------------------- questions
def test_a_question_leaves_no_trace_and_one_that_would_wait_has_no_answer(tmp_path):
    held = FILE.replace(
        "INSERT dbo.t VALUES (1);",
        "BEGIN TRANSACTION; INSERT dbo.t VALUES (1); COMMIT TRANSACTION;",
    )
    world = World(load(written(tmp_path, file=held))[0])
    answers = []
    while steps := world.steps():
        before = world.hash()
        answers.append(
            ask(
                world,
                "DECLARE @n int = (SELECT COUNT(*) FROM dbo.t); "
                "INSERT dbo.t VALUES (7); SELECT @n;",
            )
        )
        assert world.hash() == before
        world.take(steps[0])
    answers.append(ask(world, "SELECT COUNT(*) FROM dbo.t;"))
    assert answers[0] == [(0,)]
    assert None in answers
    assert answers[-1] == [(1,)]


LEAVES_A_LOCK = FILE.replace("INSERT dbo.t", "BEGIN TRANSACTION; INSERT dbo.t")
COUNTED = '[[invariant]]\nname = "counted"\nsql = "SELECT n FROM dbo.t WHERE n = 0;"\n'


@pytest.mark.parametrize("when", ["at rest", "always"])
def test_an_invariant_that_cannot_be_read_at_rest_does_not_hold(tmp_path, when):
    more = f'{COUNTED}when = "{when}"\n[search]\nlocks_may_stay = true\n'
    result = search(load(written(tmp_path, more, file=LEAVES_A_LOCK))[0])
    assert list(result.violations) == ["counted: not read, its query waits"]


def test_a_place_that_cannot_be_read_at_rest_ends_the_search(tmp_path):
    more = '[accounting]\nlanded = "SELECT n FROM dbo.t;"\n[search]\nlocks_may_stay = true\n'
    scenario = load(written(tmp_path, more, file=LEAVES_A_LOCK))[0]
    with pytest.raises(queries.QueryError, match="accounting landed: its query waits"):
        search(scenario)


def test_every_result_set_of_an_invariant_counts(tmp_path):
    two = COUNTED.replace(
        "SELECT n FROM dbo.t WHERE n = 0;", "SELECT 1; SELECT n FROM dbo.t WHERE n = 0;"
    )
    assert list(search(load(written(tmp_path, two))[0]).violations) == ["counted"]


def test_an_invariant_whose_query_never_ends_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(queries, "STEPS", 100)
    endless = COUNTED.replace("SELECT n", "WHILE 1 = 1 DECLARE @i int; SELECT n")
    with pytest.raises(OwnError, match="invariant 'counted': it has run 100 statements"):
        load(written(tmp_path, endless))
