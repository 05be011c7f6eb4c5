"""Judge one self-contained page in headless Chromium.

`python3 -I browser.py` with TESTS_DIR (this file's folder, with `expected.json`), APP_DIR (the tree, with `index.html`)
and LOGS_DIR. `steps` says what is done and looked for, in order; screenshots stay in LOGS_DIR/verifier.

The page is copied to an empty folder, so that it has nothing beside it. Whatever else it asks for is noted, and does
not come: names of hosts lead nowhere. Clicks and keys are real ones of the browser, at the place where the element is
drawn. The browser is spoken to over a pipe (Chrome DevTools Protocol), no port is opened.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CANNOT_JUDGE = 3
ALL_SECONDS = 100.0
START_SECONDS = 30.0
STEP_SECONDS = 6.0
POLL_SECONDS = 0.05
MOST_PAGE_BYTES = 3_000_000
MOST_NOTED = 20
WIDTH, HEIGHT = 1280, 800
CHUNK_BYTES = 1 << 16
INNER_SCHEMES = ("data:", "blob:", "about:")
FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--hide-scrollbars", "--mute-audio", "--no-first-run", "--disable-extensions", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-crash-reporter", "--enable-unsafe-swiftshader"),
    *("--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND", f"--window-size={WIDTH},{HEIGHT}"),
)
# Chromium's end of the pipe is at 3 and 4, wherever it may be here; copies above these are made first.
START = """
import os, sys, fcntl
ends = [fcntl.fcntl(int(word), fcntl.F_DUPFD, 10) for word in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
BOX = """(selector => {
  const seen = [...document.querySelectorAll(selector)].find(one => {
    const box = one.getBoundingClientRect(), style = getComputedStyle(one);
    return box.width > 0 && box.height > 0 && style.visibility !== "hidden" && style.display !== "none";
  });
  if (!seen) return null;
  seen.scrollIntoView({block: "center", behavior: "instant"});
  const box = seen.getBoundingClientRect();
  return {x: box.x, y: box.y, width: box.width, height: box.height};
})"""
# Means over the upper and the lower half of a picture: how light it is, and how much green outweighs blue, 0 to 255.
MEASURE = """(async source => {
  const picture = new Image();
  picture.src = source;
  await picture.decode();
  const canvas = new OffscreenCanvas(picture.width, picture.height), context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const data = context.getImageData(0, 0, canvas.width, canvas.height).data, half = data.length / 2;
  const sums = {light: 0, upper_green: 0, lower_green: 0};
  for (let at = 0; at < data.length; at += 4) {
    sums.light += 0.2126 * data[at] + 0.7152 * data[at + 1] + 0.0722 * data[at + 2];
    sums[at < half ? "upper_green" : "lower_green"] += data[at + 1] - data[at + 2];
  }
  const pixels = data.length / 4;
  return {
    light: sums.light / pixels,
    upper_green: sums.upper_green / (pixels / 2),
    lower_green: sums.lower_green / (pixels / 2),
  };
})"""


class BrowserProblem(Exception):
    """The browser does not do what it is told: it is gone, too slow, or refuses a command."""


@dataclass
class Seen:
    """What the page did on its own.

    errors: exceptions, and errors of its console. asked: addresses that it asked for.
    """

    errors: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])

    def note(self, method: str, params: Any, page: str) -> None:
        """Take an event of the browser."""
        match method:
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                told = details.get("exception", {}).get("description") or details.get("text")
                self.errors.append(str(told).splitlines()[0])
            case "Runtime.consoleAPICalled" if params.get("type") in ("error", "assert"):
                words = [str(one.get("value", one.get("description"))) for one in params["args"]]
                self.errors.append(" ".join(words))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}".strip())
            case "Network.requestWillBeSent" | "Network.webSocketCreated":
                address = str(params.get("request", params)["url"])
                if address != page and not address.startswith(INNER_SCHEMES):
                    self.asked.append(address)
            case _:
                pass


class Browser:
    """Chromium over a pipe, with one page to judge and one to measure pictures in."""

    def __init__(self, program: str, folder: Path, until: float) -> None:
        """Start it. Raises BrowserProblem if it does not answer."""
        self.seen = Seen()
        self.page = self.judged = ""
        self._until = until
        self._count = 0
        self._waiting = b""
        here, self._to = os.pipe()
        self._from, there = os.pipe()
        command = [program, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
        started = [sys.executable, "-I", "-c", START, str(here), str(there), *command]
        env = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen(
            started, pass_fds=(here, there), stdin=nothing, stdout=nothing, stderr=nothing, env=env
        )
        os.close(here)
        os.close(there)
        self.judged = self._new_page()
        self._blank = self._new_page()

    def _new_page(self) -> str:
        """A page's session."""
        # A window of its own: a tab behind another one would not be drawn.
        window = {"url": "about:blank", "newWindow": True, "width": WIDTH, "height": HEIGHT}
        target = self.do("Target.createTarget", window)["targetId"]
        session = str(self.do("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.do(f"{domain}.enable", {}, session)
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self.do("Emulation.setDeviceMetricsOverride", size, session)
        return session

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def do(self, method: str, params: Mapping[str, Any], session: str = "") -> Any:
        """A command and its result; events that come meanwhile are noted. Raises BrowserProblem."""
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        self._send(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserProblem(f"{method}: {answer['error'].get('message')}")
                return answer.get("result") or {}
            if answer.get("method") == "Page.javascriptDialogOpening":
                self._count += 1
                closed = {"id": self._count, "method": "Page.handleJavaScriptDialog", "params": {"accept": False}}
                self._send(json.dumps({**closed, "sessionId": answer["sessionId"]}).encode() + b"\0")
            elif answer.get("sessionId") == self.judged and "method" in answer:
                self.seen.note(answer["method"], answer["params"], self.page)

    def _send(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._to, data) :]
        except BrokenPipeError as error:
            raise BrowserProblem("the browser has ended") from error

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._waiting:
            left = self._until - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise BrowserProblem("the time is up: the page keeps the browser busy")
            data = os.read(self._from, CHUNK_BYTES)
            if not data:
                raise BrowserProblem("the browser has ended")
            self._waiting += data
        message, _, self._waiting = self._waiting.partition(b"\0")
        return json.loads(message)

    def value(self, expression: str, session: str = "") -> Any:
        """What an expression gives in the page. An exception in it gives None."""
        params = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        result = self.do("Runtime.evaluate", params, session or self.judged)
        return None if "exceptionDetails" in result else result["result"].get("value")

    def box(self, selector: str) -> Mapping[str, float] | None:
        """Where the first visible element of a selector is drawn, scrolled into view; None if there is none."""
        return self.value(f"{BOX}({json.dumps(selector)})")

    def click(self, selector: str) -> bool:
        """A mouse click on the middle of an element; False if none can be seen."""
        box = self.box(selector)
        if box is None:
            return False
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        button = {"button": "left", "clickCount": 1, **place}
        self.do("Input.dispatchMouseEvent", {"type": "mouseMoved", **place}, self.judged)
        self.do("Input.dispatchMouseEvent", {"type": "mousePressed", **button}, self.judged)
        self.do("Input.dispatchMouseEvent", {"type": "mouseReleased", **button}, self.judged)
        return True

    def picture(self, selector: str = "") -> str:
        """A screenshot as base64 of a PNG: of an element, or of the window. "" if the element cannot be seen."""
        params: dict[str, Any] = {"format": "png"}
        if selector:
            box = self.box(selector)
            if box is None:
                return ""
            scroll = self.value("({x: scrollX, y: scrollY})")
            params["clip"] = {**box, "x": box["x"] + scroll["x"], "y": box["y"] + scroll["y"], "scale": 1}
        return str(self.do("Page.captureScreenshot", params, self.judged)["data"])

    def measured(self, picture: str) -> Mapping[str, float]:
        """Means over a picture, see MEASURE."""
        return self.value(f'{MEASURE}("data:image/png;base64,{picture}")', self._blank) or {}


@dataclass
class Judgement:
    """The steps that were taken, and what came of them. pictures are by the names that steps give them."""

    browser: Browser
    shots: Path
    why: list[str] = field(default_factory=list[str])
    pictures: dict[str, str] = field(default_factory=dict[str, str])
    taken: int = 0
    good: int = 0

    def take(self, step: Mapping[str, Any]) -> None:
        """Take a step and note whether it went as it should."""
        self.taken += 1
        held = self._held(step)
        self.good += held
        if not held:
            self.why.append(str(step["why"]))

    def _held(self, step: Mapping[str, Any]) -> bool:
        match step:
            case {"until": str(expression)}:
                return self._until(lambda: bool(self.browser.value(expression)))
            case {"click": str(selector)}:
                return self._until(lambda: self.browser.click(selector))
            case {"type": str(text), "into": str(selector)}:
                clicked = self.browser.click(selector)
                self.browser.do("Input.insertText", {"text": text}, self.browser.judged)
                return clicked
            case {"shot": str(name), "of": str(selector), "measure": str(what), "than": str(other), "more": more}:
                return self._until(lambda: self._shot(name, selector) and self._grown(what, other, name, float(more)))
            case {"shot": str(name), **rest}:
                return self._shot(name, str(rest.get("of", "")))
            case {"moves": str(selector)}:
                first = self.browser.picture(selector)
                return bool(first) and self._until(lambda: self.browser.picture(selector) != first)
            case {"within": str(shot), "measure": str(name), "over": str(other), "more": int() | float() as more}:
                found = self.browser.measured(self.pictures.get(shot, ""))
                return name in found and found[name] >= found[other] + more
            case _:
                raise ValueError(f"expected.json: there is no such step: {dict(step)}")

    def _grown(self, what: str, one: str, two: str, more: float) -> bool:
        """Whether picture two has more of something than picture one, by so much; by a negative number it has less."""
        first, second = (self.browser.measured(self.pictures.get(name, "")).get(what) for name in (one, two))
        if first is None or second is None:
            return False
        return second - first >= more if more > 0 else second - first <= more

    def _until(self, holds: Callable[[], bool]) -> bool:
        """Wait for a condition."""
        until = time.monotonic() + STEP_SECONDS
        while not holds():
            if time.monotonic() > until:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _shot(self, name: str, selector: str) -> bool:
        self.pictures[name] = self.browser.picture(selector)
        (self.shots / f"{name}.png").write_bytes(base64.b64decode(self.pictures[name]))
        return bool(self.pictures[name])


def main() -> int:
    """Judge, and write `reward.json` and `details.json`. Returns 0, or CANNOT_JUDGE without a browser."""
    tests = Path(os.environ.get("TESTS_DIR", "/tests"))
    app = Path(os.environ.get("APP_DIR", os.getcwd()))
    shots = Path(os.environ.get("LOGS_DIR", "/logs")) / "verifier"
    shots.mkdir(parents=True, exist_ok=True)
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print(f"browser.py: none of {', '.join(NAMES)} is on PATH: install Chromium to judge pages", file=sys.stderr)
        return CANNOT_JUDGE
    expected = json.loads((tests / "expected.json").read_text(encoding="utf-8"))
    try:
        figures, why = judged(program, app / "index.html", shots, expected["steps"])
    except BrowserProblem as problem:
        print(f"browser.py: {program} does not start: {problem}", file=sys.stderr)
        return CANNOT_JUDGE
    (shots / "details.json").write_text(json.dumps({"why": why}, ensure_ascii=False, indent=1), encoding="utf-8")
    (shots / "reward.json").write_text(json.dumps(figures), encoding="utf-8")
    print(json.dumps(figures), *why, sep="\n")
    return 0


def judged(
    program: str, page: Path, shots: Path, steps: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, float], list[str]]:
    """Open a page, take all steps, and say what came of it. Raises BrowserProblem if the browser does not start."""
    if page.is_symlink() or not page.is_file():
        return _figures(0.0, False, False), ["there is no file index.html"]
    if page.stat().st_size > MOST_PAGE_BYTES:
        return _figures(0.0, False, False), [f"index.html has more than {MOST_PAGE_BYTES} bytes"]
    with tempfile.TemporaryDirectory(prefix="page-", ignore_cleanup_errors=True) as folder:
        alone = Path(folder) / "alone" / "index.html"
        alone.parent.mkdir()
        shutil.copyfile(page, alone)
        browser = Browser(program, Path(folder), time.monotonic() + START_SECONDS + ALL_SECONDS)
        judgement = Judgement(browser, shots)
        try:
            browser.page = alone.as_uri()
            browser.do("Page.navigate", {"url": browser.page}, browser.judged)
            judgement.take({"until": "document.readyState === 'complete'", "why": "the page does not finish loading"})
            for step in steps:
                judgement.take(step)
        except BrowserProblem as problem:
            judgement.why.append(str(problem))
            judgement.taken = len(steps) + 1
        finally:
            browser.close()
    seen, why = browser.seen, judgement.why
    why += [f"error: {error}" for error in seen.errors[:MOST_NOTED]]
    why += [f"asks for {address}" for address in seen.asked[:MOST_NOTED]]
    return _figures(judgement.good / judgement.taken, not seen.errors, not seen.asked), why


def _figures(share: float, no_errors: bool, no_network: bool) -> dict[str, float]:
    """pass: the page does all that is asked; held_out: it does so without an error and without asking for anything."""
    quiet = no_errors and no_network
    return {
        "pass": float(share == 1.0),
        "held_out": float(share == 1.0 and quiet),
        "steps": share,
        "no_errors": float(no_errors),
        "no_network": float(no_network),
        "reward": float(share == 1.0 and quiet),
    }


if __name__ == "__main__":
    sys.exit(main())
