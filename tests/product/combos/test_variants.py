"""Every variant that makes sense: deployed, worked, recycled, broken in every classified way,
drained and removed, with the catalog as it was before.

``python -m redial.config.variants`` prints how many there are.
"""

from __future__ import annotations

import pytest

from redial.config.variants import listing
from tests.product.sql.bare import MAY_LOSE
from tests.sampling import full

from . import scenarios
from .catalog import differences, read
from .lab import Lab, empty_instance

LISTING = listing()
VARIANTS = {variant.name: variant for variant in LISTING.variants}
TWICE = set({(v.key, v.recycle): v.name for v in LISTING.variants if not v.comparison}.values())
"""Deployed a second time at once: one for each way to find and replace a dialog."""


def test_the_list_of_variants_is_printed_and_names_each_once(capsys):
    with capsys.disabled():
        print(f"\n{LISTING}")
    assert len(VARIANTS) == len(LISTING.variants) > 0


@pytest.mark.sampled(every=60, meets=("name",))
@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_works_survives_and_goes(name):
    """Feature idempotent deploy, rollback / uninstall, templates / multi-service config: RW renders one
    pair and tests nothing; Flyway's clean leaves contracts, types and live dialogs."""
    variant = VARIANTS[name]
    with empty_instance() as instance:
        lab = Lab(instance, variant.config)
        before = read(lab.rows)
        lab.deploy()
        if name in TWICE:
            lab.deploy()
        moment = instance.snapshot()
        for called in [scenarios.COMPARED] if variant.comparison else chosen(name):
            function, unless = scenarios.ALL[called]
            lab.acknowledged.clear()
            if unless(lab):
                continue
            try:
                function(lab)
            except AssertionError as error:
                raise AssertionError(f"{called}: {error}") from error
            moment.restore()
        lab.acknowledged.clear()
        moment.release()
        leave(lab, variant.comparison)
        assert differences(before, read(lab.rows)) == []


def chosen(name: str) -> list[str]:
    """The scenarios of a variant: every fourth, from the first four by turns; all with --full."""
    everything = list(scenarios.ALL)
    return everything if full() else everything[list(VARIANTS).index(name) % 4 :: 4]


def leave(lab: Lab, comparison: bool) -> None:
    """Uninstall with dialogs open, then the data."""
    callers = [lab.caller("A"), lab.caller("B")]
    for caller in callers:
        caller.send(count=2)
        caller.session.close()
    if comparison:
        lab.advance(100)  # some have nothing to drain with: their timers must have gone off
    lab.script(lab.files["uninstall.sql"])
    if not comparison:
        assert lab.balance() == {}
    lab.script(f"{MAY_LOSE}\nGO\n" + lab.files["purge_data.sql"])
    lab.advance(3600)
