"""WELL_FORMED_XML at the place where a message arrives (F-244)."""

import pytest

from redial_broker.ssb import names
from redial_broker.ssb.validation import failure


@pytest.mark.parametrize(
    "text", ["<a/>", "<a/><b/>", "<a>1</a>\n<a>2</a>", "<?xml version='1.0'?><a/><b/>"]
)
def test_one_or_several_elements_pass(text):
    assert failure(names.XML, text.encode()) is None
    assert failure(names.XML, text.encode("utf-16-le")) is None


@pytest.mark.parametrize("text", ["", " ", "plain", "<a>", "<a/>tail", "<a></b>"])
def test_everything_else_does_not(text):
    assert failure(names.XML, text.encode() or b" ") is not None


def test_no_body_passes():
    assert failure(names.XML, None) is None
