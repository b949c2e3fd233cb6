"""A plan for a pull request, a browser, or a CI: markdown, html, junit, sarif."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from xml.etree import ElementTree

from redial.cli.plan import LOSS, counted, moves, shown, verdict
from redial.deploy.actions import LEFT, Action
from redial.deploy.plan import Plan
from redial.forms import html_page, plain, sarif_log, sarif_result, xml

LONG = 12
"""Rows of a markdown table after which the rest is folded away."""


def markdown(plan: Plan) -> str:
    """A comment for a pull request: the verdict first, details folded."""
    lines = [
        f"### redial plan: {_code(plan.config)} on {_code(', '.join(plan.databases))}",
        "",
        f"**{verdict(plan)}**",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {_cell(value)} |" for name, value in _header(plan)),
    ]
    for title, texts in _lists(plan):
        lines += ["", f"**{title}**", "", *(f"- {_cell(text)}" for text in texts)]
    if plan.actions:
        rows = [
            f"| {one.do} | {_cell(one.thing)} | {one.why} | {_cell(_first(one))} | {_cell(locked(one))} |"
            for one in plan.actions
        ]
        table = ["| do | what | why | difference | locks |", "|---|---|---|---|---|"]
        lines += ["", *table, *rows[:LONG]]
        if len(rows) > LONG:
            summary = f"<summary>{len(rows) - LONG} more</summary>"
            lines += ["", "<details>", summary, "", *table, *rows[LONG:], "", "</details>"]
        texts = [one.what for one in plan.actions if "\n" in one.what]
        if texts:
            lines += ["", "<details>", "<summary>texts that differ</summary>", ""]
            for text in texts:
                fence = "`" * max(3, _longest(text) + 1)
                lines += [
                    f"{fence}diff",
                    *(line.removeprefix("    ") for line in text.splitlines()),
                    fence,
                    "",
                ]
            lines += ["</details>"]
    return "\n".join([*lines, ""])


def html(plan: Plan) -> str:
    """One page without anything from elsewhere."""
    rows = "".join(
        f"<tr><td>{escape(one.do)}</td><td>{escape(one.thing)}</td><td>{escape(one.database)}</td>"
        f"<td>{escape(one.why)}</td><td><pre>{escape(one.what)}</pre></td><td>{escape(locked(one))}</td></tr>\n"
        for one in plan.actions
    )
    header = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>\n"
        for name, value in _header(plan)
    )
    lists = "".join(
        f"<h2>{escape(title)}</h2><ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>\n"
        for title, texts in _lists(plan)
    )
    return html_page(
        f"redial plan: {plan.config}",
        verdict(plan),
        f"<table>{header}</table>\n{lists}"
        "<h2>Changes</h2>\n<table><tr><th>do<th>what<th>database<th>why<th>difference<th>locks</tr>\n"
        f"{rows}</table>\n",
    )


def junit(plan: Plan) -> str:
    """A test for each difference and refusal, which fails; one that passes where there is none."""
    failures = [(one.thing, one.do, one.what) for one in plan.actions if one.do not in LEFT]
    failures += [(text.partition(":")[0], "blocked", text) for text in plan.blocked]
    failures += [(text.partition(",")[0], "mend", text) for text in plan.others]
    suite = ElementTree.Element(
        "testsuite",
        name=f"redial plan {plan.config}",
        tests=str(len(failures) or 1),
        failures=str(len(failures)),
    )
    for name, kind, text in failures or [("nothing to change", "", "")]:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"redial.{plan.config}", name=plain(name)
        )
        if kind:
            failure = ElementTree.SubElement(
                case, "failure", type=kind, message=plain(text.partition("\n")[0])
            )
            failure.text = plain(text)
    left = [one for one in plan.actions if one.do in LEFT]
    if left:
        said = ElementTree.SubElement(suite, "system-out")
        said.text = plain("\n".join(f"{one.do}: {one.what}" for one in left))
    return xml(suite)


def sarif(plan: Plan) -> str:
    """For code scanning: what blocks is an error, a change a warning, what is left a note."""
    found = [("blocked", "error", text, "") for text in plan.blocked]
    found += [("mend", "warning", text, "") for text in plan.others]
    for one in plan.actions:
        level = "note" if one.do in LEFT else "warning"
        found.append((one.do.replace(" ", "-"), level, one.what, one.thing))
    results = [sarif_result(plan.config, *each) for each in found]
    rules = sorted({str(result["ruleId"]) for result in results})
    return sarif_log(
        "redial plan",
        [{"id": rule, "shortDescription": {"text": _RULES[rule]}} for rule in rules],
        results,
    )


_MARKUP = {ord(mark): f"&#{ord(mark)};" for mark in "\\`*_|[]#~@"}
_RULES = {
    "blocked": "a deployment would be refused",
    "mend": "something else is wrong",
    "create": "a deployment would make it",
    "alter": "a deployment would change it",
    "drop": "a deployment would drop it",
    "grant": "a deployment would grant it",
    "revoke": "a deployment would take it away",
    "write": "a deployment would write it",
    "by-hand": "a person decides",
    "leave": "it is others'",
}


def _header(plan: Plan) -> list[tuple[str, str]]:
    return [
        ("server", plan.server),
        ("product", plan.product),
        ("login", plan.login),
        ("gate", plan.gate),
        ("dialogs", counted(plan.dialogs) or "none"),
        ("pending", counted(plan.pending) or "none"),
        ("queues", counted(plan.depth) or "none"),
        ("files", moves(plan)),
        ("holds locks on what is ours", plan.in_the_way or "nobody"),
        ("senders are refused", plan.closes or "at no time"),
        ("loss", "; ".join(plan.loss) or LOSS),
    ]


def _lists(plan: Plan) -> list[tuple[str, list[str]]]:
    """Titles and texts of what is said besides the changes; none that is empty."""
    found = [
        ("A deployment would be refused", plan.blocked),
        ("Choices that change: the gate closes and dialogs end before they do", plan.drains),
        ("Sessions in the way of switching Service Broker on", plan.cut),
        ("Callers must know", plan.callers),
        ("Wrong besides", plan.others),
        ("Seen and not judged", plan.notes),
    ]
    return [(title, texts) for title, texts in found if texts]


def locked(one: Action) -> str:
    """What is locked, and by whom it is held now."""
    return one.locks + (f"; would wait for {one.waits_for}" if one.waits_for else "")


def _first(one: Action) -> str:
    return one.what.partition("\n")[0]


def _cell(text: str) -> str:
    """In a markdown table: one line, nothing that is markup, nobody called by name."""
    return " ".join(escape(text, quote=False).translate(_MARKUP).split())


def _code(text: str) -> str:
    return f"<code>{_cell(text)}</code>"


def _longest(text: str) -> int:
    """Of the runs of backticks in a text."""
    return max(
        (len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0
    )


def as_json(plan: Plan) -> str:
    """The form ``deploy --plan`` reads."""
    return plan.to_json()


FORMS: dict[str, Callable[[Plan], str]] = {
    "text": shown,
    "json": as_json,
    "markdown": markdown,
    "html": html,
    "junit": junit,
    "sarif": sarif,
}
"""By what --format calls them."""
