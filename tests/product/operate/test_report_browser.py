"""The report's page in a browser without a network: with --full, where Chromium is on the PATH."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape, unescape
from pathlib import Path

import pytest

from redial.operate.report.accounts import accounting
from redial.operate.report.flow import throughput
from redial.operate.report.life import dead_letters, life
from redial.operate.report.model import Page, Unseen
from redial.operate.report.page import html
from tests.product.operate.test_report import HOSTILE, PAGE
from tests.product.operate.test_report_figures import AUDIT, dead, facts, landed
from tests.waiting import HANGS

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.nightly("starts a browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
]
WIDTHS = (400, 1200)
STRANGE = replace(PAGE, config="audit", label="")
"""With a head of a usual length: the verdict is to be seen without scrolling."""
SHOWN = facts(landed=landed(count=2), dead=[dead(reason=HOSTILE), dead(side=HOSTILE, type=HOSTILE)])
FULL = Page(
    "audit",
    "embedded broker, not SQL Server",
    (("server", HOSTILE),),
    (accounting(AUDIT, SHOWN), throughput(AUDIT, SHOWN), life(SHOWN, []), dead_letters(SHOWN)),
    (Unseen(STRANGE.unseen[0].where, "x", HOSTILE, HOSTILE),),
)
LOOK = """
<script>
addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, verdict = page.querySelector("#verdict");
    const box = verdict && verdict.getBoundingClientRect();
    return {title: page.title, width: frame.contentWindow.innerWidth,
            scroll: page.documentElement.scrollWidth,
            verdict: box && box.width > 100 && box.height > 10 && box.top < 900 ? verdict.textContent : "",
            svgs: [...page.querySelectorAll("svg")].map(one => one.getBoundingClientRect().width),
            fetched: frame.contentWindow.performance.getEntriesByType("resource").map(one => one.name)};
  });
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
</script>
"""


def opened(page: str, folder: Path) -> tuple[list[dict], list[str]]:
    """What each width shows, and what the console says. No name is looked up, and no proxy asked."""
    frames = "".join(
        f'<iframe width="{width}" height="900" srcdoc="{escape(page)}"></iframe>'
        for width in WIDTHS
    )
    frame = folder / "frame.html"
    frame.write_text(
        f"<!doctype html><meta charset=utf-8><link rel=icon href=data:,>{LOOK}{frames}", "utf-8"
    )
    done = subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--disable-background-networking", "--disable-component-update", "--no-first-run"),
            *(
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--no-proxy-server",
                "--window-size=1400,2000",
            ),
            *("--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}"),
            *("--virtual-time-budget=10000", "--dump-dom", frame.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=True,
    )
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return json.loads(unescape(found[1])), console


@pytest.mark.parametrize("page", [FULL, STRANGE], ids=["full", "strange"])
def test_the_page_opens_without_a_network_and_fits_a_phone_and_a_screen(page, tmp_path):
    looks, console = opened(html(page), tmp_path)
    assert console == []
    for look, width in zip(looks, WIDTHS, strict=True):
        assert look["title"].startswith("Redial report: ") and look["fetched"] == []
        assert look["width"] == width and look["scroll"] <= width, look
        assert look["verdict"].startswith(page.verdict[:20])
        assert all(0 < svg <= width for svg in look["svgs"])


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ('<div style="width:3000px">x</div>', "scroll"),
        ('<img src="http://outside.test/x.png">', "fetched"),
        ("<style>#verdict{display:none}</style>", "verdict"),
        ("<script>console.error('no')</script>", "console"),
    ],
)
def test_the_look_sees_what_it_looks_for(bad, what, tmp_path):
    """Each is put into a good page, and is seen."""
    [look, _], console = opened(html(FULL).replace("</main>", f"{bad}</main>"), tmp_path)
    seen = {
        "scroll": look["scroll"] > WIDTHS[0],
        "fetched": bool(look["fetched"] or console),
        "verdict": look["verdict"] == "",
        "console": bool(console),
    }
    assert seen[what]
