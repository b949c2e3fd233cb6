"""``invoke broker``: an embedded broker in the foreground."""

from __future__ import annotations

import argparse
import gc
import secrets
from collections.abc import Sequence
from pathlib import Path

from redial.cli.errors import UserError, command


@command
def broker(
    port: int = 1433,
    *,
    seed: int = 0,
    quantum: int | None = None,
    switch: Sequence[str] = (),
    product: str | None = None,
    password_file: str = "",
) -> None:
    """Serve on ``port`` (0: a free one) until interrupted; prints an ODBC and a JDBC line.

    quantum: statements a session runs before the next one has its turn. switch: ``name=value`` of
    what no document settles, any number. product: the version and edition it says it is: "2014",
    "2016 SP1", "Azure SQL Database" ... password_file: its first line is sa's password, which is
    then not printed; without one it is a new one each time. Raises UserError for what there is none
    of.
    """
    if not 0 <= port <= 65535:
        raise UserError(f"--port {port}", "is no port number", "pass 0 to 65535; 0: a free one")
    if quantum is not None and quantum < 1:
        raise UserError(f"--quantum {quantum}", "is no number of statements", "pass 1 or more")
    password = _password_of(password_file) if password_file else secrets.token_urlsafe(15)
    gc.disable()  # a tenth of the start; main turns it on again

    from redial_broker.engine.clock import RealClock
    from redial_broker.engine.switches import parse
    from redial_broker.exec.product import PRODUCTS, ProductError, named
    from redial_broker.instance.instance import QUANTUM, Instance
    from redial_broker.tds.serve import main

    try:
        chosen = named(product)
    except ProductError as error:
        raise UserError(
            f"--product {product}", "is no product", f"pass one of {', '.join(PRODUCTS)}"
        ) from error
    instance = Instance(
        seed=seed,
        clock=RealClock(),
        switches=parse(switch),
        quantum=quantum or QUANTUM,
        password=password,
        product=chosen,
    )
    shown = f"first line of {password_file}" if password_file else password
    try:
        main(port, instance=instance, password=shown)
    except OSError as error:
        raise UserError(
            f"port {port}", error.strerror or str(error), "redial broker --port 0 takes a free one"
        ) from error


def _password_of(file: str) -> str:
    """The first line of a file. Raises UserError where it is no password."""
    from redial_broker.exec.ddl.logins import SHORTEST_PASSWORD

    subject = f"--password-file {file}"
    try:
        text = Path(file).read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UserError(subject, why, "pass a text file; its first line is the password") from error
    if len(text) < SHORTEST_PASSWORD:
        raise UserError(
            subject,
            f"its first line has {len(text)} characters",
            f"write a password of {SHORTEST_PASSWORD} or more there",
        )
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="redial.cli.broker")
    parser.add_argument("--port", type=int, default=1433)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quantum", type=int)
    parser.add_argument("--switch", action="append", default=[])
    parser.add_argument("--product")
    parser.add_argument("--password-file", default="")
    chosen = parser.parse_args()
    broker(
        chosen.port,
        seed=chosen.seed,
        quantum=chosen.quantum,
        switch=chosen.switch,
        product=chosen.product,
        password_file=chosen.password_file,
    )
