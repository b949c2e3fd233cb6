"""Our rules as sqlfluff's: one class per code, each asking the same function as ``invoke lint``.

They work on the text of the whole file, by our own parser, and say where in sqlfluff's terms.
"""

from __future__ import annotations

from sqlfluff.core.parser import BaseSegment
from sqlfluff.core.rules import BaseRule, LintResult, RuleContext
from sqlfluff.core.rules.crawlers import RootOnlyCrawler

from redial.lint.files import lint_text
from redial.lint.model import Rule
from redial.lint.rules import RULES


def _evaluate(self: BaseRule, context: RuleContext) -> list[LintResult]:
    """Findings of this rule's code in the file, each at the raw segment where it begins."""
    root = context.segment
    found = [one for one in lint_text(root.raw) if one.code == self.code]
    places: dict[tuple[int, int], BaseSegment] = {}
    for segment in root.raw_segments if found else ():
        if segment.is_code and segment.pos_marker is not None:
            places.setdefault(segment.pos_marker.working_loc, segment)
    return [
        LintResult(anchor=places.get((one.line, one.column), root), description=one.text)
        for one in found
    ]


def _class_of(rule: Rule) -> type[BaseRule]:
    """sqlfluff takes code and documentation from the class."""
    text = "\n\n".join(
        (rule.why, "**Anti-pattern**", rule.example, "**Best practice**", rule.instead)
    )
    return type(
        f"Rule_{rule.code}",
        (BaseRule,),
        {
            "__doc__": text,
            "__module__": __name__,
            "name": f"broker.{rule.name}",
            "aliases": (),
            "groups": ("all", "broker"),
            "crawl_behaviour": RootOnlyCrawler(),
            "is_fix_compatible": False,
            "_eval": _evaluate,
        },
    )


def classes() -> list[type[BaseRule]]:
    """One class per rule, by code."""
    return [_class_of(rule) for rule in RULES.values()]
