"""The runner of public scripts: what it sends, how far it drives, what it calls a fault."""

from tools.public import corpus
from tools.public.runner import run_set, substitute


def test_every_set_names_a_known_repository_and_no_two_have_one_title():
    repositories, sets = corpus.read_sources()
    assert {s.repo for s in sets} == {r.repo for r in repositories}
    assert len({s.title for s in sets}) == len(sets) > 100


def test_the_code_of_an_article_is_one_batch_per_block():
    article = 'text\n```sql\nSELECT 1\n```\nmore\n<pre><code class="x lang-sql">a &lt; b</code>'
    assert corpus.code_blocks(article) == "SELECT 1\n\nGO\na < b"


def test_sqlcmd_variables_are_filled_in_and_its_commands_left_out():
    text = ':setvar Db "my db"\n:connect x\nUSE [$(db)];'
    assert substitute(text, {}).strip() == "USE [my db];"


def test_scripts_in_utf_16_and_windows_1252_are_read():
    assert corpus.decode("é".encode("utf-16")) == corpus.decode(b"\xe9") == "é"


def test_errors_refusals_and_output_are_told_apart():
    script = "PRINT 'a';\nGO\nSELECT * FROM nowhere;\nGO\nEXEC sp_addlinkedserver 'x';"
    outcome = run_set([("s.sql", script)])
    assert outcome.output == ["s.sql:1: a"]
    assert [(f.number, f.where) for f in outcome.errors] == [(208, "s.sql:3")]
    assert [f.construct for f in outcome.refused] == ["the system procedure sp_addlinkedserver"]
    assert outcome.batches == 3 and not outcome.crash


def test_a_wait_with_a_timeout_returns_and_one_without_gets_an_attention():
    script = (
        "CREATE DATABASE d;\nGO\nUSE d;\nCREATE QUEUE q;\nGO\n"
        "WAITFOR (RECEIVE * FROM q), TIMEOUT 600000;\nPRINT 'back';\nGO\n"
        "WAITFOR (RECEIVE * FROM q);"
    )
    outcome = run_set([("s.sql", script)])
    assert "s.sql:7: back" in outcome.output
    assert outcome.notes == ["s.sql:9: waits for ever; attention sent"]
