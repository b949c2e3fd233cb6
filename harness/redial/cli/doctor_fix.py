"""``redial doctor --fix``: the statements of one finding as found now, run one by one."""

from __future__ import annotations

import sys

from redial.cli.doctor_site import Known, Site, trouble_of
from redial.cli.errors import quoted
from redial.operate.doctor import Look, Place, Row, Status, run, worst
from redial.operate.doctor_forms import page_of, wrapped
from redial.quoting import in_one_line, visible

Found = list[tuple[Place, Row]]


def fix(site: Site, known: Known, id: str, yes: bool) -> int:
    """Show what can be run about a finding; with ``yes`` run it, look again, and say what is gone.

    The status is that finding's. Nothing runs but what usp_Health has said of it.
    """
    before = site.looked_at(known)
    found, status = _seen(before, id)
    for place, row in found:
        print("\n".join(_shown(place, row)))
    if not found and status == Status.CLEAN:
        print(f"{id}: nothing of it is found, and there is nothing to run")
    statements = list(
        dict.fromkeys((place, row.statement, row.who) for place, row in found if row.statement)
    )
    if found and not statements:
        print("no statement mends this: do what stands above")
    if not statements:
        return status
    if not yes:
        said = f"redial doctor --config {quoted(site.model.name)} --fix {id} --yes"
        print(f"Nothing was run. Next: {said}, with the same --server")
        return status
    done = _run(site, statements)
    after = site.looked_at(known)
    left, status = _seen(after, id)
    still = {(place, row.object) for place, row in left}
    asked = {one.place for one in after if id in one.looked_for}
    for place, row in found:
        if (place, row.object) not in still:
            print(f"{'gone' if place in asked else 'not looked at again'}: {_name(place, row)}")
    for place, row in left:
        print(f"remains: {_name(place, row)}")
    return status if done else worst([status, Status.NOT_ALL])


def _seen(looks: list[Look], id: str) -> tuple[Found, Status]:
    """What is found of it, and what that comes to; where it was not looked for, that is said."""
    found = [(one.place, row) for one in looks for row in one.rows if row.id == id]
    statuses = [Status.CLEAN, *(row.status for _, row in found)]
    for one in looks:
        missed = [each for each in one.known if each.id == id and id not in one.looked_for]
        if one.trouble:
            print(one.trouble, file=sys.stderr)
        for finding in missed if not one.trouble else ():
            why = [visible(row.advice) for row in one.unseen if row.hides(finding)]
            where = visible(str(one.place))
            print(f"{id}: was not looked for in {where}. {' '.join(why)}", file=sys.stderr)
        if one.trouble or missed:
            statuses.append(Status.NOT_ALL)
    return found, worst(statuses)


def _name(place: Place, row: Row) -> str:
    figure = f" ({row.figure})" if row.figure else ""
    return visible(f"{row.title}: {row.object}{figure}, {place}")


def _shown(place: Place, row: Row) -> list[str]:
    lines = [_name(place, row), *wrapped("do", row.advice)]
    lines += wrapped("who", row.who) if row.who else []
    lines += wrapped("page", page_of(row.page)) if row.page else []
    return [*lines, f"    run      {in_one_line(row.statement)}"] if row.statement else lines


def _run(site: Site, statements: list[tuple[Place, str, str]]) -> bool:
    """Whether all have run: none behind one that failed, which is named."""
    for number, (place, statement, who) in enumerate(statements):
        database = next(said for at, said in site.places() if at == place)
        print(f"running in {visible(str(place))}: {in_one_line(statement)}", flush=True)
        try:
            with site.connected(database) as connection:
                for line in run(connection, statement, who, place, site.wait_seconds):
                    print(f"  server: {visible(line)}")
        except Exception as error:
            trouble = trouble_of(error, place)
            if trouble is None:
                raise
            print(trouble, file=sys.stderr)
            for at, other, _ in statements[number + 1 :]:
                print(f"not run in {visible(str(at))}: {in_one_line(other)}", file=sys.stderr)
            return False
    return True
