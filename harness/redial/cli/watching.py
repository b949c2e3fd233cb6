"""Looks at an installation again and again: a connection a database, opened anew when it is lost."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from redial.cli.doctor_site import Site, trouble_of
from redial.operate.doctor import Place, Trouble, refused
from redial.operate.figures import FIGURES, Sample, sample
from redial.quoting import qualified


class Seen(NamedTuple):
    """What one look at a database came to: one of both is None."""

    place: Place
    sample: Sample | None
    trouble: Trouble | None


class Watch:
    """Keeps its connections between looks; a context that closes them.

    Raises UserError where the server's name is none, before anything is asked.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self._places = site.places()
        self._open: dict[Place, tuple[ExitStack, Any]] = {}
        self._left: dict[Place, tuple[ExitStack, Any]] = {}  # else they would be closed here

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        for place in list(self._open):
            self._drop(place)

    def look(self, at: float) -> list[Seen]:
        """Ask each database, the sender's first; what keeps one from answering is told, not raised.

        at: seconds of the client's clock. Raises what is our own fault.
        """
        return [self._seen(place, name, at) for place, name in self._places]

    def _seen(self, place: Place, name: str | None, at: float) -> Seen:
        try:
            connection = self._connection(place, name)
        except Exception as error:
            trouble = trouble_of(error, place)
            if trouble is None:
                raise
            return Seen(place, None, trouble)
        try:
            return Seen(place, sample(connection, self.site.model, place, at), None)
        except Exception as error:  # any driver's
            self._drop(place)
            model, wait = self.site.model, self.site.wait_seconds
            what = qualified(model.schema_name, FIGURES)
            return Seen(place, None, refused(error, what, model, place, wait))

    def _connection(self, place: Place, name: str | None) -> Any:
        if place not in self._open:
            with ExitStack() as opened:
                connection = opened.enter_context(self.site.connected(name))
                connection.timeout = max(1, self.site.wait_seconds)
                self._open[place] = (opened.pop_all(), connection)
        return self._open[place][1]

    def abandon(self) -> None:
        """Leave the connections to the end of the process: a thread still waits for an answer on one."""
        self._left, self._open = self._open, {}

    def _drop(self, place: Place) -> None:
        """Close it; one that is lost already says so, and that is nobody's news."""
        stack, _ = self._open.pop(place)
        with suppress(Exception):  # any driver's
            stack.close()


class Looking:
    """Looks in a thread of its own, one at a time: who waits for a server can still be heard.

    A context that leaves the connections alone where an answer is still waited for.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._came: SimpleQueue[list[Seen] | Exception] = SimpleQueue()
        self.busy = False

    def __enter__(self) -> Looking:
        return self

    def __exit__(self, *_: object) -> None:
        if self.busy:
            self._watch.abandon()

    def begin(self) -> None:
        """Begin a look; ``seen`` has it when it has come."""
        self.busy = True
        Thread(target=self._look, daemon=True).start()

    def seen(self) -> list[Seen] | None:
        """What the look came to, once; None where none has come. Raises what is our own fault."""
        try:
            came = self._came.get_nowait()
        except Empty:
            return None
        self.busy = False
        if isinstance(came, Exception):
            raise came
        return came

    def _look(self) -> None:
        try:
            self._came.put(self._watch.look(time.monotonic()))
        except Exception as error:  # raised where it is waited for
            self._came.put(error)
