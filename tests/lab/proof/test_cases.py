"""Cases of mutants are files: each can be read by itself, and a mistake in one is named."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from redial.config import Config
from redial.render import render
from redial.tsql import parse_script
from redial.tsql.ast import CreateProcedure, ExecuteProcedure, Node
from redial_lab.proof.cases import CASES, FOLDER, LARGE, PROCEDURES, CaseError, cases_of, read
from redial_lab.proof.mutant_search import scenario

GOOD = '["one"]\nsetup = "senders=1"\n'
HUNTED = '[procedures]\nusp_Send = ["one"]\n'
BODY = "\nAS\n"


def told(tmp_path, case=GOOD, hunted=HUNTED, **more) -> str:
    """What is said of a folder with these files."""
    (tmp_path / "sending.toml").write_text(case)
    (tmp_path / "hunted.toml").write_text(hunted)
    for name, text in more.items():
        (tmp_path / f"{name}.toml").write_text(text)
    with pytest.raises(CaseError) as refused:
        read(tmp_path)
    return str(refused.value)


@pytest.mark.parametrize("name", CASES)
def test_the_t_sql_of_a_case_is_t_sql(name):
    case = CASES[name]
    for text in (*case.first, case.before, *case.batches, *case.others):
        parse_script(text)


def statements(text: str) -> Iterator[Node]:
    """Every node of a script."""
    return (each for batch in parse_script(text) for each in batch.walk())


@cache
def parameters(config: str) -> dict[str, dict[str, bool]]:
    """Of each procedure of a configuration: its parameters, and whether a call must give them."""
    files = render(Config.model_validate_json(config))
    texts = [text for name, text in files.items() if ".procedure." in name]
    heads = [f"{text.partition(BODY)[0]}{BODY}RETURN;" for text in texts if BODY in text]
    return {
        made.name.name: {
            each.variable.name.lower(): each.default is None and not each.readonly
            for each in made.parameters
        }
        for head in heads
        for made in statements(head)
        if isinstance(made, CreateProcedure)
    }


@pytest.mark.parametrize("name", CASES)
def test_a_case_calls_our_procedures_with_what_they_ask_for(name):
    """Else it shows error 201 or 8145 and nothing more, whatever is wrong behind it."""
    known = parameters(scenario(CASES[name])[1].model_dump_json())
    case = CASES[name]
    calls = [
        each
        for text in (*case.first, case.before, *case.batches, *case.others)
        for each in statements(text)
        if isinstance(each, ExecuteProcedure) and each.procedure.name in known
    ]
    assert known
    for call in calls:
        asked = known[call.procedure.name]
        by_place = sum(one.name is None for one in call.arguments)
        given = {one.name.lower() for one in call.arguments if one.name} | {*list(asked)[:by_place]}
        assert given <= set(asked) and by_place <= len(asked), call
        assert {one for one, needed in asked.items() if needed} <= given, call


def test_every_procedure_is_hunted_somewhere_and_every_case_is_used():
    assert all(cases_of(f"{name}.where.it") or cases_of(f"{name}@pool.it") for name in PROCEDURES)
    assert set(CASES) > LARGE
    assert cases_of("usp_Nobody.where.it") == ()


def test_a_choice_s_cases_are_for_the_text_it_brings():
    plain, pool = cases_of("usp_Send.where.it"), cases_of("usp_Send@ordered.where.it")
    assert pool[: len(plain)] == plain
    assert len(pool) > len(plain)


def test_an_unknown_key_is_named_with_its_case_and_file(tmp_path):
    said = told(tmp_path, GOOD + 'batchs = ["SELECT 1;"]\n')
    assert said.startswith("sending.toml, 'one': batchs: ")


def test_a_value_of_another_type_is_named(tmp_path):
    assert told(tmp_path, GOOD + 'claims = "perhaps"\n').startswith("sending.toml, 'one': claims: ")


def test_a_case_needs_a_setup(tmp_path):
    assert told(tmp_path, '["one"]\n').startswith("sending.toml, 'one': setup: ")


def test_deadlocks_cannot_be_allowed_where_claims_refuse_them(tmp_path):
    assert "claims = false" in told(tmp_path, GOOD + "deadlocks_allowed = true\n")


def test_a_name_is_one_case_s(tmp_path):
    assert "another case" in told(tmp_path, other=GOOD)


def test_a_case_nobody_has_written_is_named(tmp_path):
    said = told(tmp_path, hunted='[procedures]\nusp_Send = ["one", "two"]\n')
    assert said == "hunted.toml: there is no case 'two'"


def test_a_case_nobody_is_hunted_in_is_named(tmp_path):
    said = told(tmp_path, GOOD + GOOD.replace("one", "two"))
    assert said == "hunted.toml: nobody is hunted in 'two'"


@pytest.mark.parametrize("bad", ["[one\n", '["one"]\n["one"]\n'])
def test_a_file_that_is_no_toml_is_named(tmp_path, bad):
    assert told(tmp_path, bad).startswith("sending.toml: ")


def test_a_folder_without_the_list_says_so(tmp_path):
    with pytest.raises(CaseError, match=r"hunted\.toml"):
        read(tmp_path)


def test_a_file_s_first_line_says_what_its_cases_show():
    for path in FOLDER.glob("*.toml"):
        assert path.read_text(encoding="utf-8").startswith("# "), path.name
