"""What an installation needs that its files make by texts built when they run.

Certificates and what they sign (79_code_signing, 25_keys, 62_dialog_security), the route to the other
database (62_03), and the options of the database itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from redial.config import Config
from redial.config.choices import Signing
from redial.deploy.fingerprint.model import OF_A_CERTIFICATE, OFF, ON, Catalog, Thing
from redial.render import Side

SIGNER = "signing certificate"
"""How it is called here; its name ends with a GUID, another one after each deployment."""
BY_SIGNER = f"by the {SIGNER}"
"""Name of a signature that a deployment makes."""
NO_KEY = "a key that is not here"
"""Of a signature whose certificate is gone, or was never in this database."""
GUID = 36
"""Characters behind the name's beginning."""
LOCAL_ROUTE = Thing("route", "AutoCreatedLocal")
"""Every database has it from its beginning; by it a dialog finds a service of the same instance."""
DATABASE = Thing("database", "itself")
"""Its options, as far as messages depend on them."""
MASTER_KEY = "master key encrypted by server"
"""Whether the server opens the key of the database by itself, as it must to use ours for dialogs."""
LOWEST_LEVEL = 130
"""Compatibility level the procedures need (05_preflight)."""
LEVEL_IS_ENOUGH = f"{LOWEST_LEVEL} or more"
UNTIL = "2099-12-31"
"""Last day of the certificates of dialogs (25_keys)."""
NOBODY = "none"
"""The private key of a certificate that signs nothing more."""
_HERE = {"service": "", "leads to": "", "address": "LOCAL", "mirror": "", "expires": ""}


def needed(config: Config, here: Side, signed: Iterable[str]) -> Catalog:
    """What is needed in one database beside what the files say.

    signed: the procedures that a certificate signs, where one does.
    """
    things: Catalog = {
        DATABASE: {
            "Service Broker": ON,
            "delayed durability": "as each COMMIT says",
            "auto close": OFF,
            "read only": OFF,
            "compatibility level": LEVEL_IS_ENOUGH,
            "open to": "multi user",
        },
        LOCAL_ROUTE: dict(_HERE),
    }
    if config.security.signing == Signing.CERTIFICATE:
        things |= _signing(signed)
    if here.apart:
        things |= _between(config, here)
        things[DATABASE][MASTER_KEY] = ON
    return things


def _signing(signed: Iterable[str]) -> Catalog:
    """A certificate nobody can sign with any more, whose user is in db_owner."""
    return {
        Thing("certificate", SIGNER): {
            "owner": "dbo",
            "private key": NOBODY,
            "for dialogs": OFF,
            "last day": UNTIL,
        },
        Thing("user", SIGNER): {"logs in by": "none", "of type": OF_A_CERTIFICATE},
        Thing("role membership", "db_owner", SIGNER): {},
        **{Thing("signature", BY_SIGNER, name): {"form": "signature"} for name in signed},
    }


def _between(config: Config, here: Side) -> Catalog:
    """Two databases know each other by certificates; the sender's has a route besides."""
    things: Catalog = {
        Thing("certificate", here.own_key): {
            "owner": config.roles.module,
            "private key": "master key",
            "for dialogs": ON,
            "last day": UNTIL,
        },
        Thing("certificate", here.other_key): {"owner": here.other_key, "private key": NOBODY},
    }
    if here.initiator:
        leads = {"service": config.services.target, "leads to": config.target.database or ""}
        things[Thing("route", here.other_key)] = _HERE | leads
    return things


def exchanged(wanted: list[Catalog], found: list[Catalog], keys: list[tuple[str, str]]) -> None:
    """Each side must know the other by the public key the other has.

    keys: own and other key's name of each side, in the order of ``wanted`` and ``found``.
    """
    for side, (own, _) in enumerate(keys):
        has = found[side].get(Thing("certificate", own), {}).get("public key")
        for other in range(len(keys)):
            known = wanted[other].get(Thing("certificate", own))
            if other != side and known is not None and has is not None:
                known["public key"] = has
