"""What is fuzzed. ``python -m tools.fuzzing.targets NAME [libFuzzer options] CORPUS`` is one run.

Each target takes any bytes and must come back with an answer the design knows; anything else is a
crash: another exception, a hang (libFuzzer's -timeout) or memory beyond its -rss_limit_mb.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import atheris

PACKAGES = ("redial", "redial_broker")
ROOMS = tuple(os.environ.get("REDIAL_FUZZ_ROOMS", " ".join(PACKAGES)).split())
"""Packages and modules whose edges guide the fuzzer. To instrument all takes half a minute."""


def elsewhere(rooms: tuple[str, ...]) -> list[str]:
    """The modules of ours that are in none of the rooms."""
    modules = set()
    for package in PACKAGES:
        found = find_spec(package)
        for folder in (found and found.submodule_search_locations) or ():
            for file in Path(folder).rglob("*.py"):
                parts = (package, *file.relative_to(folder).with_suffix("").parts)
                modules.add(".".join(parts).removesuffix(".__init__"))
    inside = tuple(f"{room}." for room in rooms)
    return sorted(name for name in modules if not f"{name}.".startswith(inside))


with atheris.instrument_imports(include=list(PACKAGES), exclude=elsewhere(ROOMS)):
    from redial.tsql import TsqlSyntaxError, parse_batch
    from redial.tsql.ast import Source
    from redial.tsql.lexer import END, tokenize
    from redial_broker.engine.clock import VirtualClock
    from redial_broker.instance.defects import INTERNAL_ERROR
    from redial_broker.instance.instance import Instance
    from redial_broker.instance.requests import Batch
    from redial_broker.tds.connection import Connection
    from redial_broker.tds.null import NullInstance
    from redial_lab.pages.coverage.examples import DATABASE, setups

MAX_STEPS = 2_000
"""Statements a fuzzed batch may run: a loop without end is T-SQL's right, not a hang of ours."""


class Defect(AssertionError):
    """The target answered with something only a mistake of ours can cause."""


def text_of(data: bytes) -> str:
    """Bytes as text, whatever they are; T-SQL arrives as UTF-16 and may hold any code unit."""
    return data.decode("utf-8", "replace")


def parser() -> Callable[[bytes], None]:
    """The parser: a tree whose positions lie in the text, or a TsqlSyntaxError with a position."""

    def one(data: bytes) -> None:
        text = text_of(data)
        try:
            tree = parse_batch(text)
        except TsqlSyntaxError as error:
            if error.line < 1 or error.column < 1:
                raise Defect(f"no position: {error}") from error
            return
        for node in tree.walk():
            if not 0 <= node.pos <= node.end <= len(text):
                raise Defect(f"{type(node).__name__} at {node.pos}..{node.end} of {len(text)}")

    return one


def packets() -> Callable[[bytes], None]:
    """The packet reader and everything behind it up to a session, before and after a login.

    The first byte says how the rest is cut into what the transport delivers, and whether it comes
    behind a login. An answer with the number of our own defects is a crash.
    """
    instance = NullInstance()
    from tests.broker.tds.client import login, prelogin

    opening = prelogin() + login()

    def one(data: bytes) -> None:
        if not data:
            return
        connection = Connection(instance)
        if data[0] & 1:
            connection.receive(opening)
            connection.take_output()
        size = 1 + (data[0] >> 1)
        for at in range(1, len(data), size):
            connection.receive(data[at : at + size])
            while instance.pump() or connection.resume():
                pass
        answer = connection.take_output()
        if INTERNAL_ERROR.to_bytes(4, "little") in answer:
            raise Defect(answer.decode("utf-16-le", "replace"))
        connection.lost()

    return one


def statements() -> Callable[[bytes], None]:
    """Compiling and running a batch: results or the server's errors, on a prepared database that
    is restored after each."""
    instance = Instance(clock=VirtualClock())
    session = instance.connect("master")
    session.execute(f"CREATE DATABASE {DATABASE};").ok()
    session.execute(f"USE {DATABASE};").ok()
    for setup in setups().values():  # of the examples; what a second one makes again fails: fine
        for text in setup.batches:
            session.execute(text)
    snapshot = instance.snapshot()

    def one(data: bytes) -> None:
        session.sink.clear()
        session.submit(Batch(text_of(data)))
        steps = 0
        while steps < MAX_STEPS and instance.pump(instance.quantum):
            steps += instance.quantum
        session.attention()
        snapshot.restore()

    return one


def words_of(text: str) -> list[str]:
    """The tokens of a text; what does not lex is one word."""
    try:
        tokens = tokenize(Source(text))
    except TsqlSyntaxError:
        return text.split(" ")
    spans = zip(tokens.kinds, tokens.starts, tokens.ends, strict=True)
    return [text[start:end] for kind, start, end in spans if kind != END]


class Grammar:
    """A mutator that changes words instead of bytes, so that most of what it makes still parses.

    statements: to splice from. Every fourth time the bytes are mutated as libFuzzer would.
    """

    def __init__(self, statements: list[str]) -> None:
        self.statements = [words_of(text) for text in statements]
        self.words = sorted({word for words in self.statements for word in words})

    def __call__(self, data: bytes, max_size: int, seed: int) -> bytes:
        """Called by libFuzzer; the same seed gives the same change."""
        choice = random.Random(seed)
        if choice.random() < 0.25:
            return atheris.Mutate(data, max_size)
        words = words_of(text_of(data))
        for _ in range(choice.randint(1, 4)):
            self._change(words, choice)
        return " ".join(words).encode()[:max_size]

    def _change(self, words: list[str], choice: random.Random) -> None:
        at = choice.randint(0, len(words))
        kind = choice.randrange(6)
        if kind == 0:
            words.insert(at, choice.choice(self.words))
        elif kind == 1:
            del words[at : at + choice.randint(1, 3)]
        elif kind == 2 and words:
            words[min(at, len(words) - 1)] = choice.choice(self.words)
        elif kind == 3:
            words[at:at] = words[max(at - choice.randint(1, 8), 0) : at]
        elif kind == 4:
            other = choice.choice(self.statements)
            first = choice.randint(0, len(other))
            words[at:at] = other[first : first + choice.randint(1, 12)]
        else:
            words[:] = [*words, ";", *choice.choice(self.statements)]


TARGETS: dict[str, Callable[[], Callable[[bytes], None]]] = {
    "parser": parser,
    "packets": packets,
    "statements": statements,
}


def planted(one: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """A target that also fails on the text in REDIAL_FUZZ_PLANT: how the tool itself is tested."""
    plant = os.environ.get("REDIAL_FUZZ_PLANT", "").encode()
    if not plant:
        return one

    def with_plant(data: bytes) -> None:
        if plant in data:
            raise Defect("planted")
        one(data)

    return with_plant


def main(arguments: list[str]) -> None:
    """Run one target until libFuzzer's options say it is enough."""
    name, *options = arguments
    one = planted(TARGETS[name]())
    if name == "packets":
        atheris.Setup([sys.argv[0], *options], one)
    else:
        grammar = Grammar(
            [
                path.read_text(encoding="utf-8", errors="replace")
                for path in sorted(Path(options[-1]).glob("seed-*"))
            ]
        )
        atheris.Setup([sys.argv[0], *options], one, custom_mutator=grammar)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
