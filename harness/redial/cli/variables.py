"""The files under a name of one's own, for people without Python: the name is a variable of sqlcmd.

What :setvar says in a script beats -v of the command line (sqlcmd-utility, variable precedence), so a
script cannot have defaults that -v replaces. Therefore none stands in these files: who runs them says all,
with -v or in a file of :setvar lines that ends with :r, of which ``SETTINGS`` is an example.
"""

from __future__ import annotations

from pathlib import Path

from redial.cli.errors import UserError
from redial.cli.naming import renamed
from redial.config.load import parse
from redial.render import render
from redial.render.modules import CONTENTS, FINISH, WHOLE, on_disk, places_in

_STAND_IN = "zq0name"
_LOOK = """\
/* For sqlcmd, or SSMS in SQLCMD mode: -v name="billing". The name is the schema's, and stands in the
   names of roles, services, contract and message types. There is no default: a variable that nobody has set
   ends here. */
IF N'$(name)' NOT LIKE N'[a-z]%' COLLATE Latin1_General_BIN2
   OR N'$(name)' LIKE N'%[^a-z0-9_-]%' COLLATE Latin1_General_BIN2
   OR LEN(N'$(name)') > 64
    THROW 50231, N'The sqlcmd variable name is missing or no name: allowed are a lower case letter and up to \
63 of a-z 0-9 _ -. Nothing was done. Next: sqlcmd -v name="billing", or :setvar name "billing" before.', 127;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
"""
_PASSED = "/* It has passed"
_SETTINGS = """\
-- An example: copy it, say your own name, run the copy with sqlcmd -b -i, or in SSMS with SQLCMD mode.
-- What stands here beats -v of the command line; without such a file say it with -v.
:setvar name "messages"
"""
SETTINGS = "settings.sqlcmd"
"""The example's file."""


def with_variables() -> dict[str, str]:
    """The files of the shipped configuration, their name a variable; by file name.

    Of WHOLE only the mark that it has passed: what it counts of a text depends on the name.
    """
    files = render(parse(renamed(_STAND_IN)))
    whole = next(p for name, p in places_in(files[CONTENTS]).items() if WHOLE.match(name))
    lines = files[FINISH].split("\n")
    mark = next(i for i in range(whole.first, whole.last) if lines[i].startswith(_PASSED))
    files[FINISH] = "\n".join([*lines[: whole.first - 1], *lines[mark:]])
    scripts = [name for name in on_disk(files) if name.endswith(".sql")]
    found = {}
    for name in scripts:
        text = files[name].replace(_STAND_IN, "$(name)")
        begins = text.index("GO\n") + len("GO\n")
        found[name] = text[:begins] + _LOOK + text[begins:]
    found[SETTINGS] = _SETTINGS + "".join(f":r {name}\n" for name in scripts if name[0].isdigit())
    return found


def write(folder: Path) -> list[str]:
    """Write them into a folder that is empty or not there; their names. Raises UserError."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"--sqlcmd {folder}", "is there already, and not empty", "name another")
    texts = with_variables()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    return list(texts)
