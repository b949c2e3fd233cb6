"""What an installation must be, by its rendered files, beside what a server's catalog says it is.

``wanted`` reads the files, ``found`` asks the server, ``compare`` names every difference. One model
for all three (``model``): a thing has a kind, a name and properties that are texts.
"""

from redial.deploy.fingerprint.compare import Difference, compare
from redial.deploy.fingerprint.found import CannotSee, Found, found
from redial.deploy.fingerprint.model import Catalog, Thing
from redial.deploy.fingerprint.surroundings import (
    Known,
    gives_power,
    merged,
    moved,
    read,
    surroundings,
    written,
)
from redial.deploy.fingerprint.wanted import wanted

__all__ = [
    "CannotSee",
    "Catalog",
    "Difference",
    "Found",
    "Known",
    "Thing",
    "compare",
    "found",
    "gives_power",
    "merged",
    "moved",
    "read",
    "surroundings",
    "wanted",
    "written",
]
