"""Pasted paths of pictures, in the ways in which terminals write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.facekit.images import pasted_picture


def test_paths_of_pictures(tmp_path: Path) -> None:
    path = tmp_path / "a picture.PNG"
    path.write_bytes(b"x")
    escaped = str(path).replace(" ", "\\ ")
    for text in (str(path), f"'{path}' ", f'"{path}"', escaped, "file://" + str(path).replace(" ", "%20")):
        assert pasted_picture(text), text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no.png",
        "/nowhere/x.png",
        "'unclosed.png",
        "a.png\nb.png",
        "\0.png",
        "~nobody/x.png",
        "x" * 5000 + ".png",
        "file://",
    ],
)
def test_what_is_none(text: str) -> None:
    assert not pasted_picture(text)


def test_other_files_and_folders_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("<svg/>")
    (tmp_path / "b.png").mkdir()
    assert not pasted_picture(str(tmp_path / "a.svg"))
    assert not pasted_picture(str(tmp_path / "b.png"))
