"""The recorded cases, as things to record again: the request, what the model is made to say, and at which server."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parents[2] / "wire" / "recordings"
KEPT_FILES = ("request.json", "model_text.txt", "expected.json")
"""Files of a case that are taken over: they say what is asked and meant, not what a server did."""

_RANDOM = "55-"
_ENGINE_DIES = "53-"
_SPLIT = re.compile(r"6\d-")
_LONG = re.compile(r'\("(.*)" repeated (\d+) times\)', re.DOTALL)


class Variant(StrEnum):
    """Servers that the cases want. PLAIN: the template thinks when told to. SPLIT: it thinks unless told not to, and
    the tags of calls are several tokens each. DYING: like PLAIN, and its engine is killed in the middle of a reply.
    """

    PLAIN = "plain"
    SPLIT = "split"
    DYING = "dying"


@dataclass(frozen=True, slots=True)
class Case:
    """A case to record. script is "" where the model is not made to say anything; steps as in `inside/launch.py`.

    stream and whole: which of the two bodies are recorded; neither for cases of a single exchange (errors and GETs).
    """

    name: str
    folder: Path
    request: dict[str, Any]
    variant: Variant
    script: str = ""
    steps: str = ""
    stream: bool = False
    whole: bool = False

    @property
    def exchange(self) -> dict[str, Any]:
        """Method, path, authorization if it is a special one, and body, with long texts written out."""
        if "path" in self.request:
            return _written_out(self.request)
        return {"method": "POST", "path": "/v1/chat/completions", "body": _written_out(self.request)}


def folders(root: Path = RECORDINGS) -> list[Path]:
    """The folders of vLLM recordings, by version."""
    return sorted(
        (p for p in root.glob("vllm-*") if p.is_dir()), key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)]
    )


def load(root: Path = RECORDINGS, patterns: Iterable[str] = ()) -> list[Case]:
    """Every case that any version has, as the newest one has it; patterns choose by name, as a shell would.

    Real speculation over random text is left out: it says nothing that could be compared.
    """
    found: dict[str, Path] = {}
    for folder in folders(root):
        found |= {path.name: path for path in folder.iterdir() if (path / "request.json").exists()}
    chosen = list(patterns) or ["*"]
    return [
        _case(path)
        for name, path in sorted(found.items())
        if not name.startswith(_RANDOM) and any(fnmatch.fnmatchcase(name, pattern) for pattern in chosen)
    ]


def _case(folder: Path) -> Case:
    script = folder / "model_text.txt"
    expected = folder / "expected.json"
    steps = json.loads(expected.read_text(encoding="utf-8")).get("tokens_per_step", "1") if expected.exists() else "1"
    return Case(
        name=folder.name,
        folder=folder,
        request=json.loads((folder / "request.json").read_text(encoding="utf-8")),
        variant=_variant(folder.name),
        script=script.read_text(encoding="utf-8") if script.exists() else "",
        steps="" if steps == "1" else steps,
        stream=script.exists(),
        whole=(folder / "whole.json").exists(),
    )


def _variant(name: str) -> Variant:
    if name.startswith(_ENGINE_DIES):
        return Variant.DYING
    return Variant.SPLIT if _SPLIT.match(name) else Variant.PLAIN


def _written_out(value: Any) -> Any:
    """value with descriptions of long texts, `("word " repeated 6000 times)`, replaced by the texts."""
    match value:
        case dict():
            return {name: _written_out(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType]  # JSON
        case list():
            return [_written_out(item) for item in value]  # pyright: ignore[reportUnknownVariableType]  # JSON
        case str() if found := _LONG.fullmatch(value):
            return found.group(1) * int(found.group(2))
        case _:
            return value
