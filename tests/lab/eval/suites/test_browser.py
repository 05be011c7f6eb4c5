"""Pages, in a real Chromium: what a page does is seen, and so is what it should not do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.lab.eval.suites.conftest import SUITES
from tests.lab.eval.suites.judge_many import load

BROWSER = load("browser")
CHROMIUM = next(filter(None, map(shutil.which, BROWSER.NAMES)), None)
LIGHT = "<body style='background: white'><button id=b>On</button><script>"
STEPS: list[dict[str, Any]] = [
    {"shot": "before", "why": "no picture"},
    {"click": "#b", "why": "no button"},
    {"until": "b.textContent === 'Off'", "why": "the button does nothing"},
    {"shot": "after", "of": "body", "measure": "light", "than": "before", "more": -100, "why": "it does not get dark"},
    {"moves": "#b", "why": "nothing moves"},
    {"click": "#none", "why": "there is no #none"},
]
PAGE = """
b.onclick = () => { alert("a dialog that waits"); b.textContent = "Off"; document.body.style.background = "black"; };
setInterval(() => { b.style.color = `hsl(${Date.now() % 360} 80% 40%)`; }, 20);
console.error("something is wrong");
new Image().src = "beside.png";
fetch("http://nowhere.example/");
setTimeout(() => lost(), 0);
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")
def test_page_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index.html").write_text(LIGHT + PAGE, encoding="utf-8")
    (tmp_path / "beside.png").write_bytes(b"")
    # The last step can only fail: its time need not pass. All others end as soon as what they wait for is there.
    monkeypatch.setattr(BROWSER.Judgement, "_until", until_seen)
    figures, why = BROWSER.judged(CHROMIUM, tmp_path / "index.html", tmp_path, STEPS)
    assert why[0] == "there is no #none"
    assert figures["steps"] == pytest.approx(6 / 7)
    told = "\n".join(why[1:])
    for word in ("something is wrong", "lost is not defined", "asks for http://nowhere.example/", "beside.png"):
        assert word in told
    assert (figures["reward"], figures["no_errors"], figures["no_network"]) == (0.0, 0.0, 0.0)
    assert (tmp_path / "after.png").read_bytes().startswith(b"\x89PNG")


def until_seen(judgement: Any, holds: Any) -> bool:
    """Wait as long as it takes, but for the step that cannot be."""
    if judgement.taken == len(STEPS) + 1:
        return bool(holds())
    while not holds():
        pass
    return True


def test_no_page_earns_nothing(tmp_path: Path) -> None:
    (tmp_path / "real.html").write_text("<p>", encoding="utf-8")
    (tmp_path / "index.html").symlink_to(tmp_path / "real.html")
    for page in (tmp_path / "index.html", tmp_path / "none" / "index.html", tmp_path):
        figures, why = BROWSER.judged("/nonexistent", page, tmp_path, [])
        assert (figures["reward"], why) == (0.0, ["there is no file index.html"])


@pytest.mark.parametrize("task", sorted(task.name for task in (SUITES / "page").iterdir()))
def test_steps_are_known(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = json.loads((SUITES / "page" / task / "tests" / "expected.json").read_text(encoding="utf-8"))["steps"]
    for step in steps:
        assert step["why"]
        judgement = BROWSER.Judgement(Blind(), tmp_path)
        monkeypatch.setattr(judgement, "_until", bool)
        assert judgement._held(step) in (True, False)


class Blind:
    """A browser that shows nothing."""

    judged = ""

    def picture(self, selector: str) -> str:
        """No picture."""
        return ""

    def measured(self, picture: str) -> dict[str, float]:
        """Nothing to measure."""
        return {}

    def click(self, selector: str) -> bool:
        """Nothing to click."""
        return False
