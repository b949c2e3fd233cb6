"""GO cuts a script; each batch knows where it begins."""

import pytest

from harness.deploy.batches import Batch, batches


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1;\nGO\n", [Batch("SELECT 1;", 1)]),
        ("\n\nSELECT 1;\ngo\nSELECT 2;", [Batch("\n\nSELECT 1;", 3), Batch("SELECT 2;", 5)]),
        ("SELECT 1;\nGO 3 -- thrice\n", [Batch("SELECT 1;", 1, 3)]),
        ("SELECT 1;\r\nGO\r\nSELECT 2;\r\n", [Batch("SELECT 1;\r", 1), Batch("SELECT 2;\r\n", 3)]),
        ("GO\nGO\n\n", []),
        ("SELECT 1 AS GOOD;\nGOTO done;", [Batch("SELECT 1 AS GOOD;\nGOTO done;", 1)]),
    ],
)
def test_go_lines_cut_batches(text, expected):
    assert list(batches(text)) == expected
