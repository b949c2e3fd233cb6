"""For the whole suite: the same examples in every run, and none judged by a clock."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("redial", deadline=None, derandomize=True)
settings.load_profile("redial")
