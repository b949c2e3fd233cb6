"""Send lines with redial.client, and say of each what became of it.

    python send.py CONNECTION CONFIG KEY MODE [once] < lines

Every line is `ID TEXT`. CONNECTION: - takes it from REDIAL_SERVER (arguments show in ps). KEY: -
for none. MODE: autocommit sends each line by itself; transaction and batch make one unit of work
of the lines up to an empty one. once: delivery = exactly_once, ID is a GUID and the message id.
Each line is answered by `ok ID`, `failed ID NUMBER TEXT` or `unknown ID NUMBER TEXT`.
"""

import os
import sys
from itertools import groupby
from uuid import UUID

import pyodbc

from redial.client import MaybeSent, NotSent, send, send_many, transaction

MODES = ("autocommit", "transaction", "batch")


def main(server: str, schema: str, key: str | None, mode: str, once: str = "") -> None:
    """Send the lines of standard input."""
    server = os.environ["REDIAL_SERVER"] if server == "-" else server
    key = None if key == "-" else key

    def connect():
        return pyodbc.connect(server, autocommit=True, timeout=10)

    def unit(lines):
        names, texts = zip(*(line.partition(" ")[::2] for line in lines))
        bodies, ids = (
            [text.encode() for text in texts],
            [UUID(name) for name in names] if once else None,
        )

        def work(connection):
            for body, one in zip(bodies, ids or [None] * len(bodies)):
                send(connection, body, schema=schema, key=key, message_id=one)

        try:
            if mode == "autocommit":
                send(connect, bodies[0], schema=schema, key=key, message_id=ids and ids[0])
            elif mode == "transaction":
                transaction(connect, work, repeatable=bool(once))
            else:
                send_many(connect, bodies, schema=schema, key=key, message_ids=ids)
            said = "ok", ""
        except (NotSent, MaybeSent) as error:
            word = "unknown" if isinstance(error, MaybeSent) else "failed"
            said = word, f" {error.number} {' '.join(str(error).split())}"
        for name in names:
            print(f"{said[0]} {name}{said[1]}", flush=True)

    for filled, group in groupby(map(str.strip, sys.stdin), bool):
        if filled:
            for lines in ([line] for line in group) if mode == "autocommit" else [list(group)]:
                unit(lines)


if __name__ == "__main__":
    if len(sys.argv) < 5 or sys.argv[4] not in MODES or sys.argv[5:] not in ([], ["once"]):
        sys.exit(f"send.py CONNECTION CONFIG KEY {'|'.join(MODES)} [once]: see its first lines")
    main(*sys.argv[1:])
