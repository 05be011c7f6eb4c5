"""The lists of what Pool is made of: licences and the CycloneDX list."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from release.licences import PAGE, row
from release.parts import EXTRAS, PROJECT, Part, needs, parts, required
from release.sbom import bill, main, version


@pytest.fixture(scope="module")
def found() -> list[Part]:
    return parts()


def test_all_that_pool_asks_for_is_there_with_its_extra(found: list[Part]) -> None:
    by_name = {part.name: part for part in found}
    for extra, texts in required().items():
        for name, _ in needs(texts):
            assert by_name[name].direct
            # What Pool itself brings belongs to no extra.
            assert not by_name[name].extras or extra in by_name[name].extras, name
    assert by_name["textual"].extras == ()
    assert by_name["uvicorn"].extras == ("sim", "mcp")
    assert "mcp" in by_name["pydantic"].extras, "the largest package that only an extra needs"


def test_the_page_of_licences_is_current(found: list[Part]) -> None:
    """Other Pythons need a package less, and then it is not here: make licences writes the whole page anew."""
    page = PAGE.read_text(encoding="utf-8")
    listed = {line.split(" ")[1]: line for line in page.splitlines() if re.match(r"\| [a-z]", line)}
    listed.pop("package")
    assert [part.name for part in found if part.name not in listed] == [], "make licences"
    for part in found:
        assert listed[part.name].split(" | ")[1] == row(part, found).split(" | ")[1], "make licences"
    assert {name for name in listed if name not in {part.name for part in found}} <= {
        "backports-tarfile",
        "importlib-metadata",
        "lazy-importer",
        "zipp",
    }, "make licences"


def test_the_list_is_valid_by_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "pool.cdx.json"
    assert main([str(file)]) == 0
    assert str(file) in capsys.readouterr().out
    text = file.read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    first = file.read_bytes()
    assert main([str(file)]) == 0
    assert file.read_bytes() == first


def test_odd_licences_and_names_make_a_valid_list_too() -> None:
    odd = [
        Part("a", "1", "LGPL", ("mcp",), ("b", "gone"), False),
        Part("b", "2!1+local", "MIT OR (Apache-2.0 AND BSD-3-Clause)", (), ("a", "b"), True),
        Part("c", "3", "none stated", (), (), True),
    ]
    made = bill(odd, version())
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(made)) is None
    assert made["dependencies"][0]["dependsOn"] == ["pkg:pypi/b@2!1+local", "pkg:pypi/c@3"]
    assert "licenses" not in made["components"][2]


def test_extras_have_names_that_pages_can_give() -> None:
    text = PROJECT.read_text(encoding="utf-8")
    for extra in EXTRAS:
        assert canonicalize_name(extra) == extra
        assert f"\n{extra} = [" in text
