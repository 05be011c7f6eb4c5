from pathlib import Path

from shop.postage import pays, postage

ROOT = Path(__file__).resolve().parents[1]
RULES = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")


def test_the_promise_is_kept():
    assert [postage(pieces) for pieces in (1, 9, 10, 11, 50)] == [500, 500, 500, 0, 0]
    assert pays(10) is True


def test_the_promise_was_not_rewritten():
    assert "at most ten pieces pays 5.00" in RULES
    assert "more than ten pieces pays nothing" in RULES


def test_gifts():
    assert postage(10, gift=True) == 0
