"""Weights on a disk: there, broken off, another upload, not there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pool.lab.serve import weights
from pool.lab.serve.setup import Setup, Wish, choose
from pool.lab.serve.weights import State, Weights, hub, weights_of

NEED = 100_000


def small(folder: Path | None = None, **wish: object) -> Setup:
    setup = choose(replace(Wish(machine="spark", weights=folder), **wish))  # pyright: ignore[reportArgumentType]
    return replace(setup, variant=replace(setup.variant, weights_bytes=NEED))


def place(cache: Path, setup: Setup) -> Path:
    folder = cache / f"models--{setup.variant.repo.replace('/', '--')}"
    (folder / "blobs").mkdir(parents=True)
    (folder / "snapshots" / setup.variant.revision).mkdir(parents=True)
    return folder


def look(cache: Path, setup: Setup) -> Weights:
    return weights_of(setup, {"HF_HUB_CACHE": str(cache)})[0]


def put(folder: Path, setup: Setup, name: str, size: int) -> None:
    """A file as Hugging Face's programs keep it: a link into the blobs."""
    blob = folder / "blobs" / f"{name}-blob"
    blob.write_bytes(b"x" * size)
    (folder / "snapshots" / setup.variant.revision / name).symlink_to(Path("../../blobs") / blob.name)


def test_nothing_there(tmp_path: Path) -> None:
    found = look(tmp_path, small())
    assert found.state is State.MISSING
    assert found.missing_bytes == NEED
    assert found.fits
    assert found.download == (
        "hf download poolside/Laguna-S-2.1-NVFP4 --revision 07614121b31898586430f189d27a25a0be310843"
    )


def test_all_there(tmp_path: Path) -> None:
    setup = small()
    folder = place(tmp_path, setup)
    put(folder, setup, "a.safetensors", NEED // 2)
    put(folder, setup, "b.safetensors", NEED // 2 - 1_000)
    put(folder, setup, "notes.txt", NEED)
    found = look(tmp_path, setup)
    assert (found.state, found.missing_bytes) == (State.HERE, 0)


def test_a_file_that_two_names_lead_to_counts_once(tmp_path: Path) -> None:
    setup = small()
    folder = place(tmp_path, setup)
    put(folder, setup, "a.safetensors", NEED // 2)
    (folder / "snapshots" / setup.variant.revision / "b.safetensors").symlink_to("a.safetensors")
    assert look(tmp_path, setup).state is State.PARTLY


def test_broken_off(tmp_path: Path) -> None:
    setup = small()
    folder = place(tmp_path, setup)
    put(folder, setup, "a.safetensors", NEED // 2)
    (folder / "blobs" / "b.incomplete").write_bytes(b"x" * 1_000)
    found = look(tmp_path, setup)
    assert found.state is State.PARTLY
    assert found.missing_bytes == NEED // 2 - 1_000


def test_another_upload(tmp_path: Path) -> None:
    setup = small()
    put(place(tmp_path, setup), setup, "a.safetensors", NEED * 139 // 100)
    assert look(tmp_path, setup).state is State.OTHER


def test_another_revision_does_not_count(tmp_path: Path) -> None:
    setup = small()
    other = place(tmp_path, setup) / "snapshots" / "other"
    other.mkdir()
    (other / "a.safetensors").write_bytes(b"x" * NEED)
    assert look(tmp_path, setup).state is State.MISSING


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"x" * NEED)
    found = look(tmp_path / "none", small(tmp_path))
    assert found.state is State.HERE
    assert f"--local-dir {tmp_path}" in found.download


def test_a_broken_link_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").symlink_to("nowhere")
    assert look(tmp_path / "none", small(tmp_path)).state is State.MISSING


def test_the_draft_has_weights_of_its_own(tmp_path: Path) -> None:
    assert [w.repo for w in weights_of(small(), {"HF_HUB_CACHE": str(tmp_path)})] == [
        "poolside/Laguna-S-2.1-NVFP4",
        "poolside/Laguna-S-2.1-DFlash-NVFP4",
    ]
    assert len(weights_of(small(depth=0), {"HF_HUB_CACHE": str(tmp_path)})) == 1


def test_a_disk_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def little(_: Path) -> SimpleNamespace:
        return SimpleNamespace(free=5)

    monkeypatch.setattr(weights.shutil, "disk_usage", little)
    assert not look(tmp_path, small()).fits


def test_one_file_of_a_repository(tmp_path: Path) -> None:
    gguf = choose(Wish(machine="apple", variant="gguf"))
    assert look(tmp_path, gguf).download == "hf download poolside/Laguna-S-2.1-GGUF laguna-s-2.1-Q4_K_M.gguf"
    several = choose(Wish(machine="apple", variant="gguf-iq4"))
    assert look(tmp_path, several).download == "hf download unsloth/Laguna-S-2.1-GGUF --include 'UD-IQ4_XS/*'"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"HF_HUB_CACHE": "/a"}, "/a"),
        ({"HF_HOME": "/b"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
    ],
)
def test_where_they_lie(env: dict[str, str], expected: str) -> None:
    assert hub(env) == Path(expected)
