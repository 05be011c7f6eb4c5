import subprocess
import sys
from pathlib import Path

from guests.lists import clean, guests

ROOT = Path(__file__).resolve().parents[1]
NAMES = ["Yara", "  Bo ", "Bo", "Xu"]


def test_each_once_and_clean():
    assert sorted(guests(NAMES)) == ["Bo", "Xu", "Yara"]
    assert clean(" a  b ") == "a b"


def test_the_same_answer_whoever_asks():
    def test_arrivals():
        return guests(NAMES)

    def test_badges():
        return guests(list(NAMES))

    assert test_arrivals() == test_badges() == guests(tuple(NAMES))
    command = [sys.executable, "-c", f"from guests.lists import guests; print(*guests({NAMES!r}))"]
    elsewhere = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert elsewhere.stdout.split() == guests(NAMES)
