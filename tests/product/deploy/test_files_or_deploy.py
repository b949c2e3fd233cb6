"""One installation whichever way it came: by the files, as sqlcmd runs them, or by a deployment."""

from __future__ import annotations

import pytest

from redial.config import load
from redial.deploy import verify
from redial.deploy.plan import fingerprint
from redial.deploy.verify import look
from redial.paths import CONFIGS
from tests.installed import rendered
from tests.product.sql.bare import Bare, installer

from .by_hand import FILES, Site, changed
from .test_hand_changes import CHANGES, lab_of, of

SHIPPED = sorted(path.stem for path in CONFIGS.glob("*.toml"))


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", SHIPPED)
def test_the_files_and_a_deployment_leave_the_same(name):
    """1 By the files: verification has nothing to say. 2 By a deployment: nothing is told apart."""
    config, seen = load(CONFIGS / f"{name}.toml"), []
    for by in (installer, None):
        bare = Bare(config)
        if by:
            bare.run(by(config))
            bare.instance.disconnect(bare.sa.session)
        else:
            bare.instance.disconnect(bare.sa.session)
            assert Site(bare).deploy()
        site = Site(bare)
        assert verify(config, site.connect, rendered(config)) == []
        seen.append([one.found for one in look(config, site.connect, rendered(config))])
    assert [sorted(one) for one in seen[0]] == [sorted(one) for one in seen[1]]
    assert fingerprint(seen[0]) == fingerprint(seen[1])


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("what", of(FILES))
def test_the_files_mend_what_a_deployment_mends_by_files(what):
    site, _ = changed(lab_of(what), CHANGES[what])
    connection = site.connect()
    for sql in installer(site.lab.config):
        connection.cursor().execute(sql)
    connection.close()
    assert site.findings() == []
