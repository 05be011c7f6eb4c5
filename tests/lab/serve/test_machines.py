"""Which machine this is, by what its programs say."""

from __future__ import annotations

import pytest

from pool.lab.serve.machines import detect, of_listing


@pytest.mark.parametrize(
    ("listing", "name", "devices", "gib"),
    [
        ("NVIDIA GB10, [N/A]\n", "spark", 1, 121.0),
        ("NVIDIA H200, 143771\n" * 4, "h200", 4, 140.4),
        ("NVIDIA H100 80GB HBM3, 81559\n", "h100", 1, 79.6),
        ("NVIDIA GeForce RTX 5090, 32607\n", "rtx-5090", 1, 31.8),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition, 97887\n", "rtx-pro-6000", 1, 95.6),
    ],
)
def test_known_devices(listing: str, name: str, devices: int, gib: float) -> None:
    found = of_listing(listing)
    assert found.known
    assert (found.machine.name, found.devices) == (name, devices)
    assert found.machine.memory_gib == pytest.approx(gib, abs=0.1)


@pytest.mark.parametrize("listing", ["", "NVIDIA Tesla K80, 11441\n", "No devices were found\n", ",\n"])
def test_a_guess_is_said_to_be_one(listing: str) -> None:
    found = of_listing(listing)
    assert not found.known
    assert "assumed" in found.words
    assert found.machine.name == "spark"


def test_this_one() -> None:
    assert detect().devices >= 1
