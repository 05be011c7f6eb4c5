"""Writes a model folder for vLLM: a tiny random Llama with a tokenizer and a chat template in Laguna's marker layout.

Runs in vLLM's own environment, not in Pool's: `python build_model.py FOLDER [--split-tags] [--thinks-by-default]`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sysconfig
from pathlib import Path
from typing import Any

WINDOW_TOKENS = 8192
VOCABULARY_SIZE = 4096
TRAINED_ON_FILES = 120

PAD, UNKNOWN, START = "〈|PAD|〉", "〈|UNK|〉", "〈|EOS|〉"
MARKERS = [
    f"<{slash}{tag}>" for tag in ("think", "assistant", "user", "system", "tool_response") for slash in ("", "/")
]
TAGS = [f"<{slash}{tag}>" for tag in ("tool_call", "arg_key", "arg_value") for slash in ("", "/")]


def tokenizer_json(split_tags: bool) -> dict[str, Any]:
    """A byte-level BPE tokenizer; with split_tags the tags of calls are ordinary text of several tokens."""
    lib: Any = importlib.import_module("tokenizers")
    markers = MARKERS if split_tags else MARKERS + TAGS
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.pre_tokenizer = lib.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = lib.decoders.ByteLevel()
    trainer = lib.trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=[PAD, UNKNOWN, START, *markers],
        initial_alphabet=lib.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library = Path(sysconfig.get_paths()["stdlib"])
    tokenizer.train([str(path) for path in sorted(library.glob("*.py"))[:TRAINED_ON_FILES]], trainer)
    out = json.loads(tokenizer.to_str())
    for token in out["added_tokens"]:
        # Special tokens are dropped from the text; these must reach vLLM's parsers.
        token["special"] = token["content"] not in markers
    return out


def configs(tokens: dict[str, int], size: int) -> dict[str, dict[str, Any]]:
    """The JSON files beside the tokenizer, by name."""
    ends = [tokens[START], tokens["</assistant>"]]
    return {
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": START,
            "bos_token": START,
            "pad_token": PAD,
            "unk_token": UNKNOWN,
            "add_bos_token": False,
            "clean_up_tokenization_spaces": False,
            "model_max_length": WINDOW_TOKENS,
        },
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 32,
            "vocab_size": size,
            "max_position_embeddings": WINDOW_TOKENS,
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0,
            "hidden_act": "silu",
            "torch_dtype": "float32",
            "tie_word_embeddings": False,
            "eos_token_id": ends,
            "bos_token_id": tokens[START],
            "pad_token_id": tokens[PAD],
        },
        "generation_config.json": {"eos_token_id": ends},
    }


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description="Write a tiny random model for vLLM.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split-tags", action="store_true")
    parser.add_argument("--thinks-by-default", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_json(args.split_tags)
    tokens = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    files = {"tokenizer.json": tokenizer, **configs(tokens, len(tokenizer["model"]["vocab"]))}
    for name, content in files.items():
        (args.folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    template = Path(__file__).with_name("template.jinja").read_text(encoding="utf-8")
    template = template.replace("THINKS_BY_DEFAULT", "true" if args.thinks_by_default else "false")
    (args.folder / "chat_template.jinja").write_text(template, encoding="utf-8")


if __name__ == "__main__":
    main()
