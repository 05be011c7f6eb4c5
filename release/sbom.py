"""Write what Pool is made of, with versions, as a CycloneDX list (SBOM) into dist/.

usage: python -m release.sbom [FILE]

The versions are those of this environment, so it is made where the release was tested. The same environment gives the
same bytes. The form is CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from release.parts import ROOT, UNSTATED, Part, parts, required

PURL = "pkg:pypi/{name}@{version}"
"""How a package of Python's index is named in such lists (https://github.com/package-url/purl-spec)."""


def version() -> str:
    """Pool's own version."""
    text = (ROOT / "pool" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    if found is None:
        raise SystemExit("pool/__init__.py says no __version__")
    return found[1]


def bill(found: Sequence[Part], pool: str) -> dict[str, Any]:
    """The list as JSON values; pool is Pool's version."""
    refs = {part.name: PURL.format(name=part.name, version=part.version) for part in found}
    own = PURL.format(name="laguna-pool", version=pool)
    direct = sorted(refs[part.name] for part in found if part.direct)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "laguna-pool",
                "version": pool,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": own,
            }
        },
        "components": [_component(part, refs[part.name]) for part in found],
        "dependencies": [
            {"ref": own, "dependsOn": direct},
            *({"ref": refs[part.name], "dependsOn": _below(part, refs)} for part in found),
        ],
    }


def _component(part: Part, ref: str) -> dict[str, Any]:
    extras = [{"name": "laguna-pool:extra", "value": extra} for extra in part.extras]
    licences = {"licenses": _licences(part.licence)} if part.licence != UNSTATED else {}
    component = {"type": "library", "bom-ref": ref, "name": part.name, "version": part.version, **licences, "purl": ref}
    return {**component, "scope": "optional" if extras else "required", **({"properties": extras} if extras else {})}


def _licences(text: str) -> list[dict[str, Any]]:
    try:
        return [{"expression": canonicalize_license_expression(text)}]
    except InvalidLicenseExpression:
        return [{"license": {"name": text}}]


def _below(part: Part, refs: Mapping[str, str]) -> list[str]:
    return sorted(refs[name] for name in part.needs if name in refs and name != part.name)


def main(argv: Sequence[str]) -> int:
    """Write the file; the exit code."""
    file = Path(argv[0]) if argv else ROOT / "dist" / f"laguna-pool-{version()}.cdx.json"
    found = parts()
    missing = {extra for extra in required() if extra} - {extra for part in found for extra in part.extras}
    if missing:
        sys.stderr.write(f"these extras are not installed here: {', '.join(sorted(missing))}; make setup first\n")
        return 1
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(bill(found, version()), indent=2) + "\n", encoding="utf-8")
    print(f"{file}: {len(found)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
