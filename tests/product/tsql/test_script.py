"""GO: what cuts a script, and what does not."""

import pytest

from redial.tsql import TsqlSyntaxError, parse_script, split_batches


def cut(text: str) -> list[tuple[str, int, int]]:
    """Batches as (text without blanks around it, first line, count)."""
    return [(sql.strip(), line, count) for sql, line, count in split_batches(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nGO\nb", [("a", 1, 1), ("b", 3, 1)]),
        ("a\n  go  \r\nb\r\n", [("a", 1, 1), ("b", 3, 1)]),
        ("a\nGO 5\nb", [("a", 1, 5), ("b", 3, 1)]),
        ("a\nGO 0\n", [("a", 1, 1)]),
        ("a\nGO -- done\nb", [("a", 1, 1), ("b", 3, 1)]),
        ("GO\nGO\n\nGO\n", []),
        ("a\nGO;\nb", [("a\nGO;\nb", 1, 1)]),
        ("a\nGOTO x\nb", [("a\nGOTO x\nb", 1, 1)]),
        ("SELECT 1 AS\nGO = 1", [("SELECT 1 AS\nGO = 1", 1, 1)]),
        ("'x\nGO\ny'", [("'x\nGO\ny'", 1, 1)]),
        ("'it''s\nGO\n'", [("'it''s\nGO\n'", 1, 1)]),
        ("[x\nGO\ny]", [("[x\nGO\ny]", 1, 1)]),
        ('"x\nGO\ny"', [('"x\nGO\ny"', 1, 1)]),
        (
            "/* a\nGO\n/* b */\nGO\n*/ c\nGO\nd",
            [("/* a\nGO\n/* b */\nGO\n*/ c", 1, 1), ("d", 7, 1)],
        ),
        ("-- it's\nGO\nb", [("-- it's", 1, 1), ("b", 3, 1)]),
        ("\ufeffa\nGO", [("a", 1, 1)]),
        ("", []),
    ],
)
def test_a_line_of_nothing_but_go_cuts(text, expected):
    assert cut(text) == expected


@pytest.mark.parametrize("line", ["GO SELECT 1", "GO /* x */", "go x"])
def test_more_text_behind_go_stops(line):
    with pytest.raises(TsqlSyntaxError) as caught:
        split_batches(f"SELECT 1\n{line}\n")
    assert (caught.value.number, caught.value.line) == (0, 2)


def test_an_unclosed_string_swallows_the_rest_and_is_then_an_error():
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_script("SELECT 'a\nGO\nSELECT 1\n")
    assert caught.value.number == 105


def test_parsed_batches_keep_their_count_and_lines():
    batches = parse_script("PRINT 1\nGO 3\nPRINT 2\n")
    assert [batch.repeat for batch in batches] == [3, 1]
    assert batches[1].source.line_column(batches[1].statements[0].pos) == (3, 1)
