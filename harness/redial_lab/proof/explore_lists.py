"""What `invoke explore --list` and `--explain-hash` print."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from redial_broker.engine.state import COUNTED, explained
from redial_broker.engine.switches import SWITCHES, shown
from redial_lab.explore.faults import KINDS, OF_THE_SERVER
from redial_lab.proof.claims import DESCRIBED
from redial_lab.proof.explore_command import SCENARIOS
from redial_lab.proof.setups import ALLOWED, FAULTS, Setup
from redial_lab.proof.witnesses import WITNESSES


def listed() -> Iterator[str]:
    """Everything that the command line can name."""
    yield "scenarios (--scenario)"
    yield from (f"  {name}" for name in SCENARIOS)
    yield "fields of a setup (--setup, or a file's [setup]), with their defaults"
    plain = Setup()
    for field in fields(Setup):
        value = getattr(plain, field.name)
        allowed = ALLOWED.get(field.name)
        choices = f": {', '.join(allowed)}" if allowed else ""
        yield f"  {field.name} = {shown(value) if value not in ((), {}, None) else 'none'}{choices}"
    yield "faults of a setup"
    yield from (f"  {name}" for name in FAULTS)
    yield "kinds of fault of a file ([[fault]]); another name needs sql"
    yield from (f"  {name}: {kind.meaning}" for name, kind in KINDS.items())
    yield from (f"  {name}: {kind.meaning}" for name, kind in OF_THE_SERVER.items())
    yield "claims, and what must have been possible for each"
    for name, claim in DESCRIBED.items():
        first = " ".join((claim.__doc__ or "").split("\n\n")[0].split())
        yield f"  {first}"
        yield from (f"      needs: {needed.what}" for needed in WITNESSES[name])
    yield "switches of the engine (--vary; switches=name:value; a file's [switches])"
    for switch in SWITCHES.values():
        yield f"  {switch.name}: {', '.join(map(shown, switch.values))} ({switch.fact})"


def explained_hash() -> Iterator[str]:
    """What of a state counts, what does not and why, and how each field is brought back."""
    yield "A state is one hash of 128 bits over its parts. Per class, its fields: what a step that is"
    yield "taken back does to them, and whether they count."
    yield ""
    yield from explained()
    yield ""
    yield "What counts only where T-SQL can read it, and the words by which a text is known to:"
    yield from (f"  {name}: {aspect.why}; {aspect.words}" for name, aspect in COUNTED.items())
