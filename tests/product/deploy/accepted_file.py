"""sql/accepted.toml as the tests write it."""

from __future__ import annotations

import json
from pathlib import Path

SERVER = "REDIAL-EMBEDDED"
GRANT = "permission SELECT to joe on OBJECT Landing is there, and no file of this configuration makes it"
ENTRY = {"finding": GRANT, "server": SERVER, "reason": "reports until the warehouse is there"}


def written(project: Path, *entries: dict[str, str], text: str = "") -> Path:
    """The project's file."""
    path = project / "sql" / "accepted.toml"
    blocks = [
        "".join(
            f"{key} = {value if key == 'until' else json.dumps(value)}\n"
            for key, value in one.items()
        )
        for one in entries
    ]
    path.write_text("# ours\n" + "".join(f"\n[[accepted]]\n{one}" for one in blocks) + text)
    return path
