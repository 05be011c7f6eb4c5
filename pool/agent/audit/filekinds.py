"""Which files are tests, which configure their runner, and which are code that a user gets."""

from __future__ import annotations

import re

_TEST_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "__snapshots__"})
_TEST_NAME = re.compile(
    r"test_.*|.*_tests?\.\w+|.*\.(?:test|spec)\.\w+|.*Tests?\.(?:java|kt|cs|swift)|.*_spec\.rb|tests?\.(?:py|sh|js|ts)"
)
_CONFIG_NAME = re.compile(
    r"conftest\.py|pytest\.ini|\.pytest\.ini|tox\.ini|noxfile\.py|setup\.cfg|pyproject\.toml|\.coveragerc"
    r"|(?:jest|vitest|karma|playwright|cypress|mocha|ava)\.config\.\w+|\.mocharc\.\w+|package\.json|Makefile|makefile"
    r"|GNUmakefile|justfile|Justfile|CMakeLists\.txt|\.gitlab-ci\.yml|azure-pipelines\.yml|Jenkinsfile|phpunit\.xml\S*"
)
_CI_FOLDERS = (".github/workflows/", ".circleci/", ".buildkite/", ".woodpecker/")
_STARTS_PYTHON = re.compile(r"sitecustomize\.py|usercustomize\.py|.*\.pth")
_CODE = re.compile(
    r".*\.(?:py|pyi|pyx|[cm]?[jt]sx?|go|rs|rb|java|kt|cs|swift|php|c|cc|cpp|h|hpp|scala|ex|exs|lua|sh|bash|zig|vue|svelte)"
)
_SNAPSHOT = re.compile(r".*\.(?:snap|ambr|golden|approved\.\w+|expected)|.*(?:__snapshots__|/golden/|/expected/).*")
_PROSE = re.compile(r".*\.(?:md|rst|adoc|txt)|(?:.*/)?(?:CHANGELOG|LICENSE|README|AUTHORS)[^/]*")
_LOCKS = frozenset(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lockb poetry.lock uv.lock pdm.lock "
    "Pipfile.lock Cargo.lock go.sum Gemfile.lock composer.lock mix.lock flake.lock".split()
)
_VENDORED = frozenset({"vendor", "node_modules", "third_party", "thirdparty", "site-packages", "_vendor", "external"})


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rstrip("/").rpartition("/")[2]


def is_test(path: str) -> bool:
    """Whether a path is that of a test, or lies in a folder of tests and only they need it."""
    parts = path.split("/")
    if is_config(path):
        return False
    return bool(_TEST_NAME.fullmatch(parts[-1])) or any(part in _TEST_FOLDERS for part in parts[:-1])


def is_config(path: str) -> bool:
    """Whether a file configures how tests are run, at least in a part of it."""
    return bool(_CONFIG_NAME.fullmatch(name_of(path))) or any(folder in f"/{path}" for folder in _CI_FOLDERS)


def starts_python(path: str) -> bool:
    """Whether Python executes a file before any program."""
    return bool(_STARTS_PYTHON.fullmatch(name_of(path)))


def is_snapshot(path: str) -> bool:
    """Whether a file holds what tests expect, written by a tool."""
    return bool(_SNAPSHOT.fullmatch(path))


def is_prose(path: str) -> bool:
    """Whether a file is read by people only."""
    return bool(_PROSE.fullmatch(path))


def is_code(path: str) -> bool:
    """Whether a file is a program's source."""
    return bool(_CODE.fullmatch(name_of(path)))


def is_product(path: str) -> bool:
    """Whether a file is code of the program that the tests are about."""
    return is_code(path) and not is_test(path) and not is_config(path) and not is_vendored(path)


def is_lock(path: str) -> bool:
    """Whether a file pins versions and is written by a package manager."""
    return name_of(path) in _LOCKS


def is_vendored(path: str) -> bool:
    """Whether a file is somebody else's code, kept in the tree."""
    return any(part in _VENDORED for part in path.split("/")[:-1])
