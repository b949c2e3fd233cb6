"""The explorer is for anybody's T-SQL: no object of ours is named in it."""

from __future__ import annotations

import re
from pathlib import Path

import redial_lab.explore

OURS = re.compile(r"\busp_|SessionConversations|//redial|TargetQueue|InitiatorQueue|EndOfStream")


def test_no_name_of_ours_stands_in_the_explorer():
    folder = Path(redial_lab.explore.__file__).parent
    named = [
        f"{path.name}: {found.group()}"
        for path in sorted(folder.rglob("*.py"))
        for found in OURS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert named == []
