"""The installer under a name of one's own, for people without Python: the name is a variable of sqlcmd.

What :setvar says in a script beats -v of the command line (sqlcmd-utility, variable precedence), so a
script cannot have defaults that -v replaces. Therefore none stands in these files: who runs them says all,
with -v or in a file of :setvar lines that ends with :r, of which ``SETTINGS`` is an example.
"""

from __future__ import annotations

from redial.cli.naming import SHIPPED, renamed
from redial.config.load import parse
from redial.render import render

FOLDER = "redial.sqlcmd"
"""Below sql/generated; no configuration has a point in its name."""

SCRIPTS = ("redial.sql", "uninstall.sql", "purge_data.sql", "permissions_report.sql")
_STAND_IN = "zq0name"
_LOOK = """\
/* For sqlcmd, or SSMS in SQLCMD mode: -v name="billing"{plan}. The name is the schema's, and stands in the
   names of roles, services, contract and message types. There is no default: a variable that nobody has set
   ends here. */
IF N'$(name)' NOT LIKE N'[a-z]%' COLLATE Latin1_General_BIN2
   OR N'$(name)' LIKE N'%[^a-z0-9_-]%' COLLATE Latin1_General_BIN2
   OR LEN(N'$(name)') > 64
    THROW 50231, N'The sqlcmd variable name is missing or no name: allowed are a lower case letter and up to \
63 of a-z 0-9 _ -. Nothing was done. Next: sqlcmd -v name="billing", or :setvar name "billing" before.', 127;
"""
_PLAN = """\
IF N'$(plan)' NOT IN (N'0', N'1')
    THROW 50231, N'The sqlcmd variable plan is missing or neither 0 (install) nor 1 (say what would change). \
Nothing was done. Next: sqlcmd -v name="billing" plan=1, or :setvar plan 1 before.', 127;
"""
_FIRST = "SET ROWCOUNT 0; "
"""The last of the settings redial.sql begins with."""
_OTHERWISE = {
    "DECLARE @plan bit = 0; ": "DECLARE @plan bit = CASE N'$(plan)' WHEN N'1' THEN 1 ELSE 0 END; ",
    "the files of this folder": f"the files of sql/generated/{SHIPPED}",
}
SETTINGS = """\
-- An example: copy it, say your own values, run the copy with sqlcmd -b -i, or in SSMS with SQLCMD mode.
-- What stands here beats -v of the command line; without such a file say both with -v.
:setvar name "messages"
:setvar plan "1"
:r redial.sql
"""


def with_variables() -> dict[str, str]:
    """The scripts of the shipped configuration, their name a variable; by file name."""
    files = render(parse(renamed(_STAND_IN)))
    found = {"settings.sqlcmd": SETTINGS}
    for name in SCRIPTS:
        text = files[name].replace(_STAND_IN, "$(name)")
        plan = name == "redial.sql"
        begins = text.index("\n", text.index(_FIRST if plan else "GO\n")) + 1
        look = _LOOK.format(plan=" plan=1") + _PLAN if plan else _LOOK.format(plan="")
        text = text[:begins] + look + text[begins:]
        for ours, theirs in _OTHERWISE.items():
            text = text.replace(ours, theirs)
        found[name] = text
    return found
