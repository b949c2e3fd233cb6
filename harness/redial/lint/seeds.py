"""The T-SQL of the five seeds, as ``sql/mutants`` and ``sql/comparators`` keep it: ours to lint."""

from __future__ import annotations

from dataclasses import dataclass, field

from redial.config import load
from redial.lint.files import lint_text
from redial.lint.model import Finding, Options
from redial.paths import CONFIGS, SQL
from redial.render import render
from redial.render.modules import HEADER


@dataclass(frozen=True, slots=True)
class Seed:
    """One of the five articles' T-SQL."""

    number: str
    title: str
    """number, title: of the seed."""
    note: str
    """What the reader must know."""
    texts: dict[str, str]
    """File name -> T-SQL."""
    options: Options = field(default_factory=Options)

    def findings(self) -> list[tuple[str, Finding, str]]:
        """(file, finding, its line's words), over all files as the one script they were."""
        script, starts = "", []
        for name, text in self.texts.items():
            starts.append((script.count("\n"), name))
            script += text
        found = []
        lines = script.split("\n")
        for one in lint_text(script, self.options):
            first, name = max(start for start in starts if start[0] < one.line)
            place = Finding(one.line - first, one.column, one.code, one.text)
            found.append((name, place, " ".join(lines[one.line - 1].split())))
        return found


def seeds() -> list[Seed]:
    """The five, in order."""
    conversations = Options(table="ServiceBrokerConversations")
    return [
        Seed(
            "000",
            "Recycling Conversations, 2007",
            "`sql/mutants/article`; what was cut from the text we have is named there.",
            _rendered("article", "usp_Send", "usp_SenderActivation"),
        ),
        Seed(
            "001",
            "Recycling Dialogs",
            "It publishes no T-SQL. `sql/comparators/shared_dialog` is ours, from its words.",
            _rendered("shared_dialog", "usp_SendShared"),
        ),
        Seed(
            "002",
            "Service Broker Activation Deadlocking, a forum thread of 2015",
            "`sql/comparators/forum_pair`, nothing cut.",
            _rendered(
                "forum_pair",
                "usp_SendMessage",
                "usp_BrokerHandleInitiator",
                "usp_InitiatorQueueHandler",
            ),
            conversations,
        ),
        Seed(
            "003",
            "Service Broker Demystified - CLOSED conversations",
            "Its scripts are pictures in the text we have; "
            "`sql/comparators/003_closed_conversations.sql` has the statements it spells out.",
            {
                "003_closed_conversations.sql": (
                    SQL / "comparators" / "003_closed_conversations.sql"
                ).read_text("utf-8")
            },
        ),
        Seed(
            "004",
            "Resending messages, 2007",
            "`sql/comparators/published_resend`; the Error branch stands in seed 000's procedure.",
            _rendered("published_resend", "usp_ResendPending", "usp_SenderActivation"),
        ),
    ]


def _rendered(name: str, *procedures: str) -> dict[str, str]:
    """Those procedures without the SET options that only our rendering gives them; lines stay."""
    files = render(load(CONFIGS / "audit.toml"), mutant=name)
    blank = "\n" * HEADER.count("\n")
    return {
        file: text.replace(HEADER, blank, 1)
        for file, text in files.items()
        if any(file.endswith(f"_{procedure}.procedure.sql") for procedure in procedures)
    }
