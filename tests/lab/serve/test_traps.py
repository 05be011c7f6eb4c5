"""Commands that are known to fail, and the one that Pool prints, which is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from pool.lab.serve.catalog import MODELS
from pool.lab.serve.engines import command_for
from pool.lab.serve.flags import Arguments
from pool.lab.serve.graphs import aligned_depths, captured, default_most, grid
from pool.lab.serve.machines import MACHINES
from pool.lab.serve.setup import ServeError, Setup, Wish, adopted, choose
from pool.lab.serve.traps import Subject, Trap, traps


def spark(**wish: object) -> Setup:
    return choose(replace(Wish(machine="spark"), **wish))  # pyright: ignore[reportArgumentType]


def found(setup: Setup, extra: str = "", env: Mapping[str, str] | None = None) -> list[Trap]:
    command = command_for(setup).with_extra(extra.split())
    arguments = Arguments.of(command.words)
    return traps(Subject(adopted(setup, arguments), arguments, env or {}))


def names(setup: Setup, extra: str = "", env: Mapping[str, str] | None = None) -> list[str]:
    return [trap.name for trap in found(setup, extra, env)]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_that_pool_prints_is_a_trap(model: str, machine: str) -> None:
    """But for a model that does not fit, and for a machine on which no checkpoint runs."""
    able = {chip for variant in MODELS[model].variants for chip in variant.chips}
    if MACHINES[machine].chip not in able:
        with pytest.raises(ServeError, match="needs"):
            choose(Wish(model=model, machine=machine))
        return
    setup = choose(Wish(model=model, machine=machine))
    assert names(setup) == ([] if setup.fits else ["no-cache"])


def test_every_variant_has_a_command_without_traps() -> None:
    for model in MODELS.values():
        for variant in model.variants:
            machine = next(
                m for m in MACHINES.values() if (m.chip in variant.chips and not m.shared) or m.name == "apple"
            )
            setup = choose(Wish(model=model.name, variant=variant.name, machine=machine.name))
            assert [name for name in names(setup) if name != "no-cache"] == []


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ("--moe-backend triton", "moe-triton-nvfp4"),
        ("--moe-backend=triton", "moe-triton-nvfp4"),
        ("--moe_backend triton", "moe-triton-nvfp4"),
        ("--moe-backend flashinfer_b12x", "moe-b12x"),
        ("--max-cudagraph-capture-size 24", "capture-maximum"),
        ("--max-num-seqs 16", "capture-maximum"),
        ("--cudagraph-capture-sizes 1 2 4", "capture-maximum"),
        ('--compilation-config {"cudagraph_capture_sizes":[1,2,4]}', "capture-maximum"),
        ("--max-num-batched-tokens 16384", "step-tokens"),
        ("--max-num-batched-tokens 16K", "step-tokens"),
        ("--max-model-len 1048576", "context-too-long"),
        ("--gpu-memory-utilization 0.6", "no-cache"),
        ('--speculative-config {"method":"dflash","model":"poolside/Laguna-XS-2.1-DFlash"}', "draft-pair"),
        ('--override-generation-config {"min_p":0.05}', "sampling-default"),
        ("--tool-call-parser hermes", "parser"),
        ("--kv-cache-dtype nvfp4", "cache-nvfp4"),
        ("--tensor-parallel-size 3", "tensor-parallel"),
        ("--speculative-config {method:dflash}", "json-flag"),
        ("--reasoning-config [1]", "json-flag"),
    ],
)
def test_refused(extra: str, name: str) -> None:
    [trap] = [trap for trap in found(spark(), extra) if trap.name == name]
    assert trap.refuse
    assert trap.words
    assert trap.remedy
    assert trap.source


@pytest.mark.parametrize("depth", [2, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14])
def test_a_depth_beside_the_grid_is_refused(depth: int) -> None:
    assert "draft-depth-grid" in names(spark(depth=depth))


@pytest.mark.parametrize("depth", [1, 3, 7, 15])
def test_a_depth_on_the_grid_is_not(depth: int) -> None:
    assert "draft-depth-grid" not in names(spark(depth=depth))


def test_a_deep_draft_with_many_sessions_runs_out_of_memory() -> None:
    assert "deep-draft-memory" in names(spark(depth=15, sessions=32))
    assert names(spark(depth=15, sessions=4)) == []


def test_without_graphs_the_grid_does_not_matter() -> None:
    assert "draft-depth-grid" not in names(spark(depth=5), "--enforce-eager")


@pytest.mark.parametrize("variant", ["bf16", "fp8"])
def test_other_precisions_need_the_backend_that_nvfp4_refuses(variant: str) -> None:
    setup = choose(Wish(variant=variant, machine="h200", devices=4))
    assert Arguments.of(command_for(setup).words).text("--moe-backend") == "triton"
    assert names(setup) == []
    assert "moe-deepgemm-dflash" in names(setup, "--moe-backend cutlass")


@pytest.mark.parametrize(
    ("extra", "env", "name"),
    [
        ("--gpu-memory-utilization 0.95", {}, "shared-memory"),
        ("--revision main", {}, "draft-revision"),
        ("--max-num-seqs 256 --max-cudagraph-capture-size 1024", {}, "default-sequences"),
        ("--host 0.0.0.0", {}, "open-door"),
        ("", {"VLLM_USE_V2_MODEL_RUNNER": "1"}, "runner-v2"),
    ],
)
def test_noted_but_started(extra: str, env: dict[str, str], name: str) -> None:
    [trap] = found(spark(), extra, env)
    assert trap.name == name
    assert not trap.refuse


def test_a_key_closes_the_door() -> None:
    assert names(spark(), "--host 0.0.0.0", {"VLLM_API_KEY": "x"}) == []


def test_llamacpp() -> None:
    setup = choose(Wish(machine="apple"))
    assert "no-jinja" in names(setup, "--no-jinja")
    assert "llama-draft-depth" in names(setup, "--spec-draft-n-max 15")


def test_the_grid() -> None:
    assert grid(32) == [1, 2, 4, 8, 16, 24, 32]
    assert grid(42)[-1] == 40
    assert grid(300)[-3:] == [256, 272, 288]
    assert aligned_depths() == [1, 3, 7, 15]
    assert default_most(8, 3, 4_096) == 64
    assert default_most(8, 0, 4_096) == 16
    assert default_most(1_000, 3, 4_096) == 512
    assert default_most(1_000, 3, 100) == 96


@pytest.mark.parametrize(
    ("sizes", "compilation", "expected"),
    [("1 8 4", "", [1, 4, 8]), ("", '{"cudagraph_capture_sizes": [2, 1]}', [1, 2]), ("", "", None), ("", "3", None)],
)
def test_sizes_of_a_command(sizes: str, compilation: str, expected: list[int] | None) -> None:
    assert captured(sizes, compilation) == expected


@pytest.mark.parametrize("compilation", ["{", "[]", '{"cudagraph_capture_sizes": 3}', "null"])
def test_a_config_that_cannot_be_read_names_none(compilation: str) -> None:
    assert captured("", compilation) is None
