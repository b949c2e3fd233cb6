"""Rendering: deterministic, strict, and safe for any name."""

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redial.config import load, parse
from redial.config.choices import CORE
from redial.config.sections import Modules
from redial.paths import CONFIGS, DOCS, GENERATED, SQL, TEMPLATES
from redial.render import RenderError, check, render, write
from redial.render.modules import PREFLIGHT
from redial.tsql import parse_script, split_batches
from tests.sampling import full

AUDIT = load(CONFIGS / "audit.toml")
ARTICLE = AUDIT.model_copy(
    update={
        "conversation": AUDIT.conversation.model_copy(
            update={"timer_strategy": type(AUDIT.conversation.timer_strategy)("article")}
        )
    }
)
HOSTILE = "o'[]]\"'; DROP TABLE x --/* 漢"


def hostile_config(name: str):
    """A config in which every free name is ``name`` plus a digit to keep them apart."""
    names = iter(f"{name}{i}" for i in range(20))
    quoted = lambda: "'''" + next(names) + "'''"  # noqa: E731
    return parse(
        f"""
        name = "hostile"
        schema = {quoted()}
        [services]
        initiator = {quoted()}
        target = {quoted()}
        [queues]
        initiator = {quoted()}
        target = {quoted()}
        [contract]
        name = {quoted()}
        end_of_stream = {quoted()}
        [[message_types]]
        name = {quoted()}
        [roles]
        module = {quoted()}
        sender = {quoted()}
        operator = {quoted()}
        reader = {quoted()}
        """
    )


def skeleton(sql: str) -> str:
    """T-SQL without comments, with every quoted thing replaced by its kind."""
    token = re.compile(
        r"/\*.*?\*/|--[^\n]*|N?'(?:[^']|'')*'|\[(?:[^\]]|\]\])*\]|\"(?:[^\"]|\"\")*\"", re.S
    )
    kinds = {"'": "'", "N": "'", "[": "[", '"': '"'}
    plain = token.sub(lambda m: kinds.get(m.group()[0], ""), sql)
    plain = re.sub(r"0x[0-9a-f]{16}", "0x", plain)  # digests of texts: 89_modules
    return re.sub(r",\s+", ", ", plain)  # how many items of a list stand in a line


def test_rendering_twice_gives_the_same_bytes():
    assert render(AUDIT) == render(AUDIT)


def test_the_committed_files_are_what_the_templates_render():
    assert check(AUDIT, GENERATED / "audit") == [], "next: invoke render"


@pytest.mark.parametrize("config", [AUDIT, ARTICLE], ids=["two_phase", "article"])
def test_every_script_begins_with_the_set_options_and_ends_with_go(config):
    for name, text in render(config).items():
        if name.endswith(".sql"):
            first = split_batches(text)[0].sql
            assert {"SET ANSI_NULLS ON;", "SET QUOTED_IDENTIFIER ON;"} <= set(
                re.findall(r"^SET \w+ ON;", first, re.M)
            ), name
            assert text.endswith("GO\n"), name


def test_the_first_file_says_what_the_words_of_its_comments_mean():
    """Ten lines or so, for a reader who has these files only."""
    head = render(AUDIT)[PREFLIGHT].split("*/", 1)[0]
    assert head.count("\n") <= 25
    for word in ("R ", "G ", "gate", "copy", "poison", "stamp", "mark", "F-nnn", "page"):
        assert re.search(rf"^ +{word}|[;:] {word}", head, re.M), word


def test_an_error_of_a_file_never_ends_sqlcmd_with_0():
    """Where an exit status has a byte, a multiple of 256 would be success (F-493)."""
    files = render(hostile_config("x"))
    around = [text.split("\nGO\n")[1] for name, text in files.items() if re.match(r"\d_", name)]
    texts = [text for name, text in files.items() if re.match(r"\d\d_(?!.*procedure)", name)]
    thrown = {
        int(number)
        for text in [*texts, *around]
        for number in re.findall(r"\b(50[0-9]{3})\b", text)
    }
    assert {50200, 50220, 50228, 50233} <= thrown
    assert [number for number in thrown if number % 256 == 0] == []


def test_each_module_is_created_in_a_batch_of_its_own():
    for name, text in render(AUDIT).items():
        if not name.endswith(".sql"):
            continue
        for batch in split_batches(text):
            if "CREATE OR ALTER" in batch.sql:
                assert batch.sql.lstrip().startswith(("CREATE OR ALTER", "--")), name


def test_no_procedure_is_longer_than_one_careful_reader_can_follow():
    for name, text in render(AUDIT).items():
        if ".procedure." in name:
            assert text.count("\n") <= 250, name


def test_every_fact_a_template_cites_is_in_the_facts_sheet():
    facts = (DOCS / "facts.md").read_text(encoding="utf-8")
    known = set(re.findall(r"\*\*(F-\d+)\*\*", facts))
    cited = {
        (fact, path.name)
        for path in SQL.rglob("*.j2")
        for fact in re.findall(r"\bF-\d+", path.read_text(encoding="utf-8"))
    }
    assert {c for c in cited if c[0] not in known} == set()


def test_every_error_number_is_in_the_register():
    register = (DOCS / "errors.md").read_text(encoding="utf-8")
    thrown = {
        number
        for config in (AUDIT, hostile_config("x"))
        for text in render(config).values()
        for number in re.findall(
            r"(?:THROW |VALUES \(|TOP \(1\) |SELECT |ELSE )(50[12]\d\d)\b", text
        )
    }
    assert thrown
    assert {n for n in thrown if f"| {n} |" not in register} == set()


def test_every_locking_hint_has_a_reason_beside_it():
    """A comment within the statement of the hint or right above it (origins: locks 8)."""
    for path in TEMPLATES.rglob("*.procedure.sql.j2"):
        lines = path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines):
            if re.search(r"^\s*WITH \(.*(LOCK|NOWAIT|READPAST)", line):
                near = lines[max(0, number - 8) : number + 2]
                assert any("/*" in other for other in near), f"{path.name}:{number + 1}"


def test_hostile_names_change_no_statement():
    plain, hostile = render(hostile_config("plain")), render(hostile_config(HOSTILE))
    assert plain.keys() == hostile.keys()
    for name in plain:
        if name.endswith(".sql"):
            assert skeleton(hostile[name]) == skeleton(plain[name]), name


@settings(max_examples=15 if full() else 5, deadline=None)
@given(st.text(st.sampled_from("]['\"-*/;%GO \u0416"), min_size=1, max_size=60))
def test_any_name_keeps_the_statements_as_they_are(name):
    plain, hostile = render(hostile_config("plain")), render(hostile_config(f"x{name}"))
    for file in ("72_03_usp_Send.procedure.sql", "20_02_schema.schema.sql", "uninstall.sql"):
        assert skeleton(hostile[file]) == skeleton(plain[file])


@pytest.mark.parametrize("name", ["plain", HOSTILE, "GO", "'"])
def test_our_own_parser_takes_every_script(name):
    for file, text in render(hostile_config(name)).items():
        if file.endswith(".sql"):
            assert parse_script(text), file


def test_names_of_128_characters_render():
    files = render(hostile_config("]" * 126))
    assert "[" + "]]" * 126 + "0]" in files["20_02_schema.schema.sql"]


def test_a_missing_variable_names_template_and_line(tmp_path):
    root = mini(tmp_path, "SELECT 1;\nSELECT {{ c.nothing }};\nGO\n")
    with pytest.raises(RenderError, match=r"templates/10_a/x\.view\.sql\.j2:2: .*nothing"):
        render(AUDIT, root)


def test_a_template_with_wrong_syntax_names_template_and_line(tmp_path):
    root = mini(tmp_path, "SELECT 1;\n{% if %}\nGO\n")
    with pytest.raises(RenderError, match=r"templates/10_a/x\.view\.sql\.j2:2: "):
        render(AUDIT, root)


def test_a_missing_include_names_template_and_file(tmp_path):
    root = mini(tmp_path, "{% include 'absent.sql' %}\nGO\n")
    with pytest.raises(RenderError, match=r"x\.view\.sql\.j2:1: template not found: absent\.sql"):
        render(AUDIT, root)


def test_a_template_without_go_at_its_end_is_refused(tmp_path):
    with pytest.raises(RenderError, match="must end with GO"):
        render(AUDIT, mini(tmp_path, "SELECT 1;\n"))


def test_a_missing_template_directory_is_named(tmp_path):
    with pytest.raises(RenderError, match="no such template directory"):
        render(AUDIT, tmp_path)


def test_check_tells_missing_stale_and_superfluous_files_apart(tmp_path):
    root = mini(tmp_path, "SELECT 1;\nGO\n")
    directory = tmp_path / "rendered"
    assert all("missing" in line for line in check(AUDIT, directory, root))
    write(AUDIT, directory, root)
    assert check(AUDIT, directory, root) == []
    (directory / PREFLIGHT).write_text("SELECT 2;\nGO\n", encoding="utf-8")
    (directory / "old.sql").write_text("", encoding="utf-8")
    (directory / "SHA256SUMS").unlink()
    assert check(AUDIT, directory, root) == [
        f"{PREFLIGHT}: stale; run redial render",
        "SHA256SUMS: missing; run redial render",
        "old.sql: not rendered any more; run redial render",
    ]
    assert {p.name for p in write(AUDIT, directory, root)} == {
        PREFLIGHT,
        "old.sql",
        "SHA256SUMS",
    }


def test_the_article_replaces_the_sending_side_and_nothing_else():
    warning = ", COMPARISON ONLY: timer_strategy = article"
    ours = render(AUDIT)
    article = {name: text.replace(warning, "") for name, text in render(ARTICLE).items()}
    assert warning in render(ARTICLE)["72_usp_Send.procedure.sql"]
    same = {name for name in ours if article.get(name) == ours[name]}
    assert "77_04_usp_TargetActivation.procedure.sql" in same
    assert "50_queues.queue.sql" in same and "60_services.service.sql" in same
    assert "72_usp_Send.procedure.sql" in article
    assert "74_01_usp_RecycleConversation.procedure.sql" not in article
    assert article["30_SessionConversations.table.sql"] != ours["30_SessionConversations.table.sql"]


def mini(tmp_path: Path, template: str) -> Path:
    """A ``sql`` directory with one template."""
    area = tmp_path / "templates" / "10_a"
    area.mkdir(parents=True)
    (area / "x.view.sql.j2").write_text(template, encoding="utf-8")
    for folder in ("20_security", "97_files"):
        ignored = shutil.ignore_patterns("*.sql.j2")
        shutil.copytree(
            TEMPLATES / "core" / folder, tmp_path / "templates" / folder, ignore=ignored
        )
    return tmp_path


@pytest.mark.parametrize("name", ["usp_Send", "USP_landbatch"])
def test_a_hook_with_the_name_of_a_procedure_of_ours_is_refused(name):
    config = AUDIT.model_copy(update={"target": AUDIT.target.model_copy(update={"hook": name})})
    with pytest.raises(RenderError, match=r"target\.hook: .* allowed: another name"):
        render(config)


def test_a_template_is_rendered_twice_only_where_it_must_know_what_the_others_hold(monkeypatch):
    from redial.render import renderer

    seen: list[str] = []
    real = renderer._render_one

    def counted(environment, source, change, content_hash):
        seen.append(source.output)
        return real(environment, source, change, content_hash)

    monkeypatch.setattr(renderer, "_render_one", counted)
    files = render(AUDIT)
    again = {name for name in seen if seen.count(name) > 1}
    late = {"79_modules.signature.sql", "81_modules.check.sql", "90_deployment.data.sql"}
    assert again == late
    monkeypatch.setattr(renderer, "LATE", re.compile(""))  # all of them, as if each had to know
    assert render(AUDIT) == files


def test_every_area_has_a_number_of_its_own():
    """The number puts an area into its place, and a file's first two digits say which one made it."""
    areas = {path.name for path in TEMPLATES.glob("*/[0-9][0-9]_*")}
    numbers = [name[:2] for name in areas]
    assert sorted(name for name in areas if numbers.count(name[:2]) > 1) == []
    others = {
        path.parent.name for path in SQL.glob("*/*/*/*.sql.j2") if "templates" not in path.parts
    }
    assert others <= areas, "a mutant's or a comparator's area is one of ours"


def test_a_template_is_in_the_folder_of_a_module_and_its_name_in_no_other():
    """Templates name each other without their modules."""
    modules = {path.name for path in TEMPLATES.iterdir()} - {"keys", "key_bases"}
    assert modules == {CORE, *Modules.model_fields}
    names = [path.relative_to(TEMPLATES).parts[1:] for path in TEMPLATES.glob("*/*/*.j2")]
    assert sorted(name for name in names if names.count(name) > 1) == []


def test_parts_of_templates_ask_for_nothing_that_is_known_late():
    from redial.render.renderer import LATE

    for part in (path for path in TEMPLATES.rglob("*.inc.j2") if path.parent.name != "97_files"):
        code = re.sub(r"\{#.*?#\}|/\*.*?\*/", "", part.read_text(encoding="utf-8"), flags=re.S)
        assert LATE.findall(code) == [], part.name
