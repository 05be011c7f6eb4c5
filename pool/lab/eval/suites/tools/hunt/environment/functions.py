"""A file system of a parcel service, made up: look around in it, search it, read it."""

from __future__ import annotations

FILES = {
    "README.md": "# Parcels\n\n`app/` takes orders, `docs/` says what we promise, `tests/` are from another time.\n",
    "docs/limits.md": "# Limits\n\nParcels weigh up to and including 30 kg.\nLetters weigh up to and including 500 g.\n",
    "docs/prices.md": "# Prices\n\nA parcel costs 4.90, a letter 0.85.\n",
    "app/__init__.py": '"""A parcel service."""\n',
    "app/messages.py": (
        '"""What customers are told."""\n'
        "\n"
        'TOO_HEAVY = "too heavy for this service"\n'
        'TOO_LONG = "too long for this service"\n'
        'NO_ADDRESS = "there is no such address"\n'
    ),
    "app/orders.py": (
        '"""Orders: the checks that they go through."""\n'
        "\n"
        "from app import messages\n"
        "from app.sizes import short_enough\n"
        "from app.weights import light_enough\n"
        "\n"
        "\n"
        "class Refused(Exception):\n"
        '    """An order that is not taken."""\n'
        "\n"
        "\n"
        "def check(kilos: float, centimetres: float) -> None:\n"
        '    """Raises Refused for a parcel that is not taken."""\n'
        "    if not light_enough(kilos):\n"
        "        raise Refused(messages.TOO_HEAVY)\n"
        "    if not short_enough(centimetres):\n"
        "        raise Refused(messages.TOO_LONG)\n"
    ),
    "app/weights.py": (
        '"""Weights."""\n'
        "\n"
        "MOST_KILOS = 30\n"
        "MOST_GRAMS = 500\n"
        "\n"
        "\n"
        "def light_enough(kilos: float) -> bool:\n"
        '    """Whether a parcel is light enough: up to and including MOST_KILOS."""\n'
        "    return 0 < kilos < MOST_KILOS\n"
        "\n"
        "\n"
        "def is_letter(grams: float) -> bool:\n"
        '    """Whether something goes as a letter: up to and including MOST_GRAMS."""\n'
        "    return grams <= MOST_GRAMS\n"
    ),
    "app/sizes.py": (
        '"""Sizes."""\n'
        "\n"
        "MOST_CENTIMETRES = 120\n"
        "\n"
        "\n"
        "def short_enough(centimetres: float) -> bool:\n"
        '    """Whether a parcel is short enough: shorter than MOST_CENTIMETRES."""\n'
        "    return centimetres < MOST_CENTIMETRES\n"
    ),
    "app/prices.py": '"""Prices in cents."""\n\nPARCEL = 490\nLETTER = 85\n',
    "app/labels.py": 'def label(name: str) -> str:\n    """A label."""\n    return name.upper()[:30]\n',
    "tests/test_old.py": 'def test_light_enough():\n    """Not run since 2029."""\n    assert 29 < 30\n',
}
MOST_HITS = 20


def list_files(folder: str = "") -> list:
    """Names of all files in a folder and in those inside it.

    folder: such as app; left out, the whole file system
    """
    prefix = folder.strip("/") + "/" if folder.strip("./") else ""
    return [path for path in FILES if path.startswith(prefix)]


def search(text: str) -> list:
    """Lines that contain a text, as path:line: content.

    text: what to search for; upper and lower case are told apart
    """
    hits = [
        f"{path}:{number}: {line}"
        for path, content in FILES.items()
        for number, line in enumerate(content.splitlines(), 1)
        if text in line
    ]
    return hits[:MOST_HITS]


def show(path: str) -> str:
    """A whole file, its lines numbered.

    path: such as app/orders.py
    """
    if path not in FILES:
        raise ValueError(f"there is no file {path}")
    return "\n".join(f"{number}: {line}" for number, line in enumerate(FILES[path].splitlines(), 1))


if __name__ == "__main__":
    from functionserver import serve

    serve(globals())
