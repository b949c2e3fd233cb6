"""mkdocs' hook: the site holds docs/ only, so a link into evidence/ becomes the file's name.

On the site of a repository the same link works as it stands; tests/test_links.py looks at it.
"""

from __future__ import annotations

import re
from typing import Any

EVIDENCE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(evidence/[^)]*)\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page's text without links out of the site."""
    return EVIDENCE.sub(r"\1 (`\2`)", markdown)
