import subprocess
import sys
from pathlib import Path

from tally.rounding import rounded, to_tens

ROOT = Path(__file__).resolve().parents[1]


def test_the_nearest_ten():
    for number in range(-200, 200):
        assert to_tens(number) % 10 == 0
        assert abs(to_tens(number) - number) <= 5


def test_the_same_answer_each_time():
    assert {to_tens(25) for _ in range(6)} in ({20}, {30})
    assert rounded([25, 25, 25]) == [to_tens(25)] * 3


def test_the_same_answer_elsewhere():
    command = [sys.executable, "-c", "from tally.rounding import to_tens; print(to_tens(25))"]
    elsewhere = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert int(elsewhere.stdout) == to_tens(25)
