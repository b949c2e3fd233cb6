"""How Redial and its extras are installed. It is on no package index: whoever installs names a file."""

from __future__ import annotations

from redial.version import VERSION

FILE = f"redial_servicebroker-{VERSION}-py3-none-any.whl"
"""What ``pip wheel`` makes of this version."""


def pip_install(extra: str) -> str:
    """The command that adds an extra, for an error's next step."""
    clone = "tools/setup --spark" if extra == "spark" else "tools/setup"
    return (
        f"pip install '{FILE}[{extra}]', with the path of the file that Redial was installed from "
        f"(in a clone: {clone})"
    )
