"""A calculator."""

from __future__ import annotations

import ast

ALLOWED = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub)


def calculate(expression: str) -> float:
    """The value of an arithmetic expression.

    expression: numbers with + - * / and parentheses, such as (1 + 2) * 3.5
    """
    tree = ast.parse(expression, mode="eval")
    if not all(isinstance(node, ALLOWED) for node in ast.walk(tree)):
        raise ValueError("only numbers, + - * / and parentheses are allowed")
    return round(eval(compile(tree, "expression", "eval"), {"__builtins__": {}}), 9)


def count_letters(text: str) -> int:
    """How many letters a text has.

    text: the text
    """
    return sum(letter.isalpha() for letter in text)


if __name__ == "__main__":
    from functionserver import serve

    serve(globals())
