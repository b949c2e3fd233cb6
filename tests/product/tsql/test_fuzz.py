"""Whatever the text: a tree or a TsqlSyntaxError, never another exception."""

from hypothesis import given, settings
from hypothesis import strategies as st

from redial.tsql import TsqlSyntaxError, parse_batch, parse_script, split_batches
from redial.tsql.ast import Source
from redial.tsql.lexer import END, tokenize
from tests.product.tsql import zoo

BATCHES = [sql for sql, _ in zoo.accepted() + zoo.read("refused")]


def words_of(sql: str) -> list[str]:
    """The tokens of a batch as text; [] when it does not even lex."""
    try:
        tokens = tokenize(Source(sql))
    except TsqlSyntaxError:
        return []
    pieces = zip(tokens.kinds, tokens.starts, tokens.ends, strict=True)
    return [sql[start:end] for kind, start, end in pieces if kind != END]


WORDS = sorted({word for sql in BATCHES for word in words_of(sql)})


def outcome(sql: str) -> str:
    """Parse and say how it went; any other exception fails the test."""
    try:
        batch = parse_batch(sql)
    except TsqlSyntaxError as error:
        assert error.line >= 1
        assert error.column >= 1
        return "refused"
    for node in batch.walk():
        assert 0 <= node.pos <= node.end <= len(sql)
    return "parsed"


@given(st.text(max_size=80))
def test_random_text_parses_or_is_refused(sql):
    assert outcome(sql) in ("parsed", "refused")


@given(st.text(alphabet="'\"[]/*-@#$.,;:()=<>!+ \n0aNxGO", max_size=60))
def test_random_punctuation_parses_or_is_refused(sql):
    assert outcome(sql) in ("parsed", "refused")


@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_random_words_of_the_language_parse_or_are_refused(words):
    assert outcome(" ".join(words)) in ("parsed", "refused")


@settings(max_examples=400)
@given(st.sampled_from(BATCHES), st.data())
def test_a_changed_statement_parses_or_is_refused(sql, data):
    words = words_of(sql)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(words)))
        change = data.draw(st.sampled_from(("drop", "insert", "cut", "double")))
        if change == "insert":
            words.insert(at, data.draw(st.sampled_from(WORDS)))
        elif change == "cut":
            del words[at:]
        elif change == "drop":
            del words[at : at + 1]
        else:
            words[at:at] = words[max(at - 3, 0) : at]
    assert outcome(" ".join(words)) in ("parsed", "refused")


@given(
    st.lists(st.sampled_from(["GO", "go 3", " GO ", "SELECT 1", "'", "/*", "*/", "[", "]", "--"]))
)
def test_cutting_a_script_loses_nothing_but_separators(lines):
    text = "\n".join(lines)
    batches = split_batches(text)
    numbered = text.split("\n")
    for sql, first_line, count in batches:
        assert count >= 1
        assert numbered[first_line - 1] == sql.split("\n")[0]
    kept = sum(len(batch.sql) for batch in batches)
    assert kept <= len(text)


@given(st.lists(st.sampled_from(["GO", "SELECT 1", "PRINT 'a", "b'", "/* x", "*/", "SELECT 'GO'"])))
def test_a_script_parses_or_is_refused_at_a_line_of_the_script(lines):
    text = "\n".join(lines)
    try:
        parse_script(text)
    except TsqlSyntaxError as error:
        assert 1 <= error.line <= text.count("\n") + 1
