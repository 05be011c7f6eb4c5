import ast
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "statements"


def test_format_amount_stands_once():
    found = [
        file.name
        for file in sorted(FOLDER.glob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == "format_amount"
    ]
    assert found == ["money.py"]


def test_money_needs_no_other_module():
    tree = ast.parse((FOLDER / "money.py").read_text(encoding="utf-8"))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in names if name.startswith("statements")]
