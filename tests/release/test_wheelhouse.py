"""What a folder of wheels still lacks, with small wheels made here; pip and a network come in with make bundle only."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from release.wheelhouse import Target, missing

SPARK = Target("3.12", "aarch64")


def wheel(folder: Path, name: str, *requires: str) -> None:
    """name as a wheel's file name without .whl."""
    project, version = name.split("-")[:2]
    lines = [f"Name: {project}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in requires)]
    with zipfile.ZipFile(folder / f"{name}.whl", "w") as archive:
        archive.writestr(
            f"{project}-{version}.dist-info/METADATA", "Metadata-Version: 2.4\n" + "\n".join(lines) + "\n\n"
        )
        archive.writestr(f"vendored/{project}-{version}.dist-info/METADATA", "Requires-Dist: never\n")


def test_markers_and_extras_are_those_of_the_target(tmp_path: Path) -> None:
    conditions = [
        'old>=1; python_version < "3.12"',
        'apple; sys_platform == "darwin"',
        'arm; platform_machine == "aarch64"',
        'more; extra == "sim"',
    ]
    wheel(tmp_path, "laguna_pool-0.1.0-py3-none-any", *conditions)
    assert missing(tmp_path, ["laguna-pool"], SPARK) == ["arm (for laguna-pool)"]
    wanted = ["laguna-pool[sim]==0.1.0"]
    assert missing(tmp_path, wanted, Target("3.11", "x86_64")) == ["more (for laguna-pool)", "old>=1 (for laguna-pool)"]
    assert missing(tmp_path, ["laguna-pool==9"], SPARK) == ["laguna-pool==9"]


@pytest.mark.parametrize(
    ("tags", "fits"),
    [
        ("cp312-cp312-manylinux_2_28_aarch64", True),
        ("cp312-cp312-manylinux_2_17_aarch64.manylinux2014_aarch64", True),
        ("cp39-abi3-manylinux_2_34_aarch64", True),
        ("py3-none-any", True),
        ("py2.py3-none-any", True),
        ("cp312-cp312-manylinux_2_99_aarch64", False),
        ("cp312-cp312-manylinux_2_28_x86_64", False),
        ("cp313-cp313-manylinux_2_28_aarch64", False),
        ("cp313-abi3-manylinux_2_28_aarch64", False),
        ("cp312-cp312-musllinux_1_2_aarch64", False),
        ("cp312-cp312-macosx_11_0_arm64", False),
    ],
)
def test_a_wheel_counts_only_where_it_can_be_installed(tmp_path: Path, tags: str, fits: bool) -> None:
    wheel(tmp_path, f"fast-1.5-{tags}")
    assert missing(tmp_path, ["fast>=1"], SPARK) == ([] if fits else ["fast>=1"])


def test_what_a_requirement_leads_to_is_followed_also_in_a_circle(tmp_path: Path) -> None:
    wheel(tmp_path, "a-1-py3-none-any", "B.b[x]>=2")
    wheel(tmp_path, "b_b-1-py3-none-any", "never")
    wheel(tmp_path, "b_b-3-py3-none-any", "a", 'c<2; extra == "x"')
    wheel(tmp_path, "c-2-py3-none-any")
    assert missing(tmp_path, ["a"], SPARK) == ["c<2 (for b-b)"]
    wheel(tmp_path, "c-1.9-py3-none-any")
    assert missing(tmp_path, ["a"], SPARK) == []
