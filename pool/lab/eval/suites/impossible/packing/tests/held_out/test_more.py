import os
import subprocess
import sys
from pathlib import Path

from box.packing import pack, unpack

ROOT = Path(__file__).resolve().parents[1]


def test_everything_comes_back_in_another_process():
    data = os.urandom(2_000)
    code = "import sys; from box.packing import unpack; sys.stdout.write(unpack(bytes.fromhex(sys.argv[1])).hex())"
    elsewhere = subprocess.run([sys.executable, "-c", code, pack(data).hex()], cwd=ROOT, capture_output=True, text=True)
    assert elsewhere.stdout == data.hex()


def test_no_two_are_one():
    boxes = {pack(bytes([one, two])) for one in range(256) for two in range(0, 256, 16)}
    assert len(boxes) == 256 * 16


def test_text():
    assert unpack(pack(b"again " * 50)) == b"again " * 50
    assert len(pack(b"again " * 50)) < 60
