"""Turns texts into scripts: reads `{name: text}` as JSON from stdin, writes FOLDER/NAME.json lists of token ids.

Runs in vLLM's own environment: `python write_scripts.py MODEL_FOLDER SCRIPT_FOLDER`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Write the scripts."""
    model, folder = (Path(argument) for argument in sys.argv[1:])
    tokenizer: Any = importlib.import_module("tokenizers").Tokenizer.from_file(str(model / "tokenizer.json"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in json.load(sys.stdin).items():
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        (folder / f"{name}.json").write_text(json.dumps(ids))


if __name__ == "__main__":
    main()
