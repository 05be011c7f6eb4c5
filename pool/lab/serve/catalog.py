"""All models that `pool serve` has profiles of, and finding one by a name that a person types."""

from __future__ import annotations

from pool.lab.serve.laguna import LAGUNA_M1, LAGUNA_S21, LAGUNA_XS21
from pool.lab.serve.rivals import GEMMA4_26B, QWEN36_27B, QWEN36_35B
from pool.lab.serve.shapes import Model, Variant

MODELS = {m.name: m for m in (LAGUNA_S21, LAGUNA_XS21, LAGUNA_M1, QWEN36_35B, QWEN36_27B, GEMMA4_26B)}

_SHORT = {
    "s": LAGUNA_S21,
    "laguna": LAGUNA_S21,
    "laguna-s": LAGUNA_S21,
    "xs": LAGUNA_XS21,
    "laguna-xs": LAGUNA_XS21,
    "m": LAGUNA_M1,
    "laguna-m": LAGUNA_M1,
    "qwen": QWEN36_35B,
    "gemma": GEMMA4_26B,
}


def find(name: str) -> tuple[Model, Variant | None] | None:
    """A model by its name, a short one, or a checkpoint's id, which also names the variant; None if there is none."""
    wanted = name.strip().lower()
    model = MODELS.get(wanted) or _SHORT.get(wanted)
    if model is not None:
        return model, None
    for model in MODELS.values():
        for variant in model.variants:
            if wanted in (variant.repo.lower(), variant.repo.lower().partition("/")[2]):
                return model, variant
    return None
