"""Names of our own objects are refused as a queue's or a hook's, in every configuration."""

from __future__ import annotations

import pytest

from redial.config import ConfigError, load
from redial.config.objects import object_names
from redial.paths import CONFIGS
from tests.product.sql.lab import Lab

SHIPPED = sorted(path.stem for path in CONFIGS.glob("*.toml"))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_object_an_installation_makes_is_known(name):
    config = load(CONFIGS / f"{name}.toml")
    made = {
        made
        for (made,) in Lab(config).rows(
            f"SELECT name FROM sys.objects WHERE schema_id = SCHEMA_ID(N'{config.schema_name}');"
        )
    }
    own = {config.queues.initiator, config.queues.target, config.target.hook}
    assert len(made) > 60
    assert {each for each in made - own if not each.startswith("PK__")} <= object_names()


def refused(tmp_path, section: str, key: str, name: str) -> str:
    text = (CONFIGS / "audit.toml").read_text("utf-8")
    head, _, rest = text.partition(f"[{section}]\n")
    lines = rest.split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith(f"{key} ="))
    lines[at] = f'{key} = "{name}"'
    path = tmp_path / "audit.toml"
    path.write_text(f"{head}[{section}]\n" + "\n".join(lines), "utf-8")
    with pytest.raises(ConfigError) as caught:
        load(path)
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(object_names()))
@pytest.mark.parametrize(
    ("section", "key"), [("queues", "initiator"), ("queues", "target"), ("target", "hook")]
)
def test_a_name_of_ours_is_refused(tmp_path, section, key, name):
    told = refused(tmp_path, section, key, name.upper())
    assert f"{section}.{key}: is the name of another object; allowed: others" in told
