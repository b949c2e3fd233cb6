"""Modules: what a configuration installs beside the core, and how each comes and goes at work."""

import re

import pytest

from redial.config import Config
from redial.config.choices import CORE
from redial.config.sections import Modules
from redial.paths import TEMPLATES
from tests.installed import rendered

from . import catalog
from .bare import Bare, another, fresh_catalog, installation, removal
from .lab import AUDIT
from .test_change import Senders, change

MODULES = tuple(Modules.model_fields)
FOR_EVER = {"landing_days": 0, "log_days": 0, "dead_letter_days": 0}
TEMPLATE = re.compile(r"(?:\d\d_)?(\w+)\.(?:table|procedure|function|view|trigger|type)\..*")


def with_modules(*chosen: str) -> Config:
    """The core and these; what is kept for days only with the module that purges."""
    days = {} if "retention" in chosen else FOR_EVER
    wanted = {name: name in chosen for name in MODULES}
    return another(AUDIT, modules=wanted, retention=days)


def needed(chosen: tuple[str, ...]) -> tuple[str, ...]:
    """With what they need."""
    return (*chosen, "monitor") if "operate" in chosen else chosen


def module_of_objects() -> dict[str, str]:
    """Every object of ours, and the module whose folder its template is in."""
    return {
        found[1]: path.parents[1].name
        for path in TEMPLATES.glob("*/*/*.sql.j2")
        if (found := TEMPLATE.fullmatch(path.name))
    }


def installed(bare: Bare) -> set[str]:
    """The modules that an object in the schema belongs to."""
    rows = bare.rows(
        "SELECT o.name FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'audit') UNION ALL "
        "SELECT t.name FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'audit');"
    )
    modules = module_of_objects()
    return {modules[name] for (name,) in rows if name in modules}


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("base", [(), MODULES], ids=["the core alone", "all"])
def test_a_module_comes_and_goes_while_dialogs_are_open(base, module):
    """The catalog is each time that of a fresh installation, and no message is lost."""
    with_it = with_modules(*needed((*base, module)))
    without = tuple(name for name in base if name != module)
    if module == "monitor":
        without = tuple(name for name in without if name != "operate")
    lean = with_modules(*without)
    bare = Bare.deployed(lean)
    senders = Senders(bare)
    senders.send(lean)
    bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    senders.send(lean)
    bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    # 1. it comes
    assert change(bare, senders, lean, with_it) == 0, "nobody is kept out"
    assert catalog.difference(fresh_catalog(with_it), bare.catalog()) == []
    assert installed(bare) == {CORE, *with_it.installed_modules}
    senders.send(with_it)
    # 2. it goes
    assert change(bare, senders, with_it, lean) == 0
    assert catalog.difference(fresh_catalog(lean), bare.catalog()) == []
    assert installed(bare) == {CORE, *lean.installed_modules}
    senders.send(lean)
    senders.check()


@pytest.mark.parametrize("chosen", [(), *((one,) for one in MODULES)], ids="+".join)
def test_each_set_is_worked_drained_of_its_messages_and_removed(chosen):
    config = with_modules(*needed(chosen))
    bare = Bare.deployed(config)
    senders = Senders(bare)
    for _ in range(3):
        senders.send(config)
        bare.advance(2 * config.timer.after_seconds)
    senders.check()
    if "operate" in chosen:
        bare.run(removal(config))
        assert bare.rows("SELECT name FROM sys.schemas WHERE name = N'audit';") == []


def test_without_the_module_upgrade_a_change_of_choices_is_refused_while_dialogs_are_open():
    lean = another(AUDIT, modules={"upgrade": False})
    bare = Bare.deployed(lean)
    senders = Senders(bare)
    senders.send(lean)
    before = bare.catalog()
    other = another(lean, conversation={"key": "application"})
    assert bare.stops(installation(other)) == 50191
    assert "upgrade = true in [modules]" in bare.sa.errors[0].text
    assert catalog.difference(before, bare.catalog()) == []
    senders.send(lean)
    senders.check()


@pytest.mark.parametrize("left_out", MODULES)
def test_no_text_names_what_is_not_installed(left_out):
    """But the checks for names that are taken, and what removes an earlier choice's objects."""
    chosen = {name for name in MODULES if name != left_out}
    if left_out == "monitor":
        chosen -= {"operate"}
    config = with_modules(*chosen)
    gone = {name for name, module in module_of_objects().items() if module == left_out}
    found = set()
    for name, text in rendered(config).items():
        if re.match(r"\d\d_", name) and name[:2] not in ("05", "88"):
            code = re.sub(r"/\*.*?\*/|N'(?:[^']|'')*'", "", text, flags=re.S)
            found |= {(name, word) for word in re.findall(r"\w+", code) if word in gone}
    assert {one for one in found if not one[0].startswith("29_")} == set()
