"""The generated coverage page."""

from harness.broker.catalog.coverage import REFUSED_VIEWS, page
from harness.broker.catalog.views import DECLARED


def test_every_view_and_every_mark_is_on_the_page():
    text = page()
    for view in DECLARED.values():
        assert f"### {view.schema}.{view.name}" in text
    assert "- refused: cpu_time" in text
    assert "is_system = 0" in text


def test_a_view_is_either_declared_or_refused():
    assert not set(REFUSED_VIEWS) & set(DECLARED)


def test_the_page_is_the_same_every_time():
    assert page() == page()
