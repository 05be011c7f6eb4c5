"""Presets: what it takes to install packages of a language. Its registries, and caches that are Pool's own.

No registry's address is written here. Which one a tool uses is asked of the tool and of the user's configuration, so a
company's mirror is found like the public registry.
"""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit

from pool_tools.environment import LOGIN_IN_URL, find_program
from pool_tools.frozen import frozen
from pool_tools.network.rules import AllowList, HostRule, RuleError, allow_list

QUESTION_SECONDS = 20.0
"""For one question to a tool; npm takes up to a second on a busy machine."""

CONFIG_BYTES = 256 * 1024
"""As much of a configuration file is read."""

_URL = re.compile(r"https?://[^\s\"'`,|\\<>)\]}]+", re.IGNORECASE)
_PROXY_KEY = re.compile(r"^\s*[\w.-]*proxy\b", re.IGNORECASE)

# pip keeps its defaults in itself; a Python without it has a copy for new environments.
_ASK_PIP = """
import sys
try:
    import pip
except ImportError:
    import ensurepip, glob, os
    sys.path[:0] = glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), "_bundled", "pip-*.whl"))
from pip._internal.models.index import PyPI
print(PyPI.url, "https://" + PyPI.file_storage_domain)
"""


class PresetError(Exception):
    """A preset whose registries could not be found. The message says what would help."""


@frozen
class Preset:
    """How a language's packages are installed.

    markers: files of a project. installs: what commands look like that fetch packages. variables: of the user's
    environment, passed on to commands; addresses in them are registries. files: the user's configuration, as patterns
    relative to the home, with registries' addresses in it. named_folders: such a pattern for folders named after a
    registry, as HOST-HASH. questions: commands that print registries. told: the variable that tells commands of the
    first registry that a question gave, where the configuration that says so is hidden from them. caches: variables to
    the folders they name below the preset's own.
    """

    name: str
    markers: tuple[str, ...]
    installs: str
    variables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    named_folders: str = ""
    questions: tuple[tuple[str, ...], ...] = ()
    told: str = ""
    caches: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "python",
            ("pyproject.toml", "uv.lock", "requirements.txt", "poetry.lock", "Pipfile", "setup.py", "pdm.lock"),
            r"(?:pip3?|uv pip) (?:install|download|wheel)|uv (?:sync|add|lock|run|tool|venv --seed|x)|uvx "
            r"|(?:poetry|pdm|pipenv|rye|hatch) (?:install|add|lock|update|sync|run|env)|tox\b|nox\b",
            (
                "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CERT", "PIP_TRUSTED_HOST",
                "PIP_CONFIG_FILE", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX",
                "UV_NATIVE_TLS", "REQUESTS_CA_BUNDLE",
            ),
            (
                "/etc/pip.conf", "/etc/xdg/pip/pip.conf", ".config/pip/pip.conf", ".pip/pip.conf",
                "/etc/uv/uv.toml", ".config/uv/uv.toml",
            ),
            questions=((sys.executable, "-I", "-c", _ASK_PIP),),
            caches={"PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv", "POETRY_CACHE_DIR": "poetry"},
            # The cache lies on another file system than the environment, as the sandbox sees it.
            settings={"UV_LINK_MODE": "copy", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        ),
        Preset(
            "node",
            ("package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"),
            r"(?:npm|pnpm|bun) (?:ci|i|install|add|update|up|dlx|exec|create)\b|npx "
            r"|yarn(?: install| add| up|$| *[;&|])|corepack ",
            (
                "npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_cafile", "YARN_NPM_REGISTRY_SERVER",
                "NODE_EXTRA_CA_CERTS",
            ),
            (".npmrc",),
            questions=(("npm", "config", "get", "registry"),),
            told="npm_config_registry",
            caches={"npm_config_cache": "npm", "npm_config_store_dir": "pnpm", "YARN_CACHE_FOLDER": "yarn"},
            settings={"npm_config_update_notifier": "false"},
        ),
        Preset(
            "rust",
            ("Cargo.toml", "Cargo.lock"),
            r"cargo (?:\+\S+ )?(?:fetch|add|update|install|vendor|generate-lockfile)\b",
            ("CARGO_HTTP_CAINFO",),
            (".cargo/config.toml", ".cargo/config", ".cargo/registry/index/*/config.json"),
            named_folders=".cargo/registry/index/*-*",
            caches={"CARGO_HOME": "cargo"},
        ),
        Preset(
            "go",
            ("go.mod", "go.sum", "go.work"),
            r"go (?:get|install|mod (?:download|tidy|vendor)|work sync)\b",
            ("GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE"),
            questions=(("go", "env", "GOPROXY", "GOSUMDB"),),
            caches={"GOMODCACHE": "modules", "GOCACHE": "build"},
        ),
    )
}  # fmt: skip

COMMON_VARIABLES = ("CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""Files of certificates that the user's network needs: passed on wherever there is a network."""


@frozen
class Provision:
    """What presets come to: hosts, variables for commands, and the folders of their caches (they exist)."""

    allow: AllowList
    env: Mapping[str, str]
    caches: tuple[Path, ...]


def presets_for(workspace: Path) -> tuple[str, ...]:
    """Names of the presets that a workspace looks like it needs, by the files at its top."""
    return tuple(
        preset.name for preset in PRESETS.values() if any((workspace / name).is_file() for name in preset.markers)
    )


def installing(command: str) -> tuple[str, ...]:
    """Names of the presets whose packages a command line looks like it fetches. A guess, to ask before it fails."""
    words = re.sub(r"[ \t]+", " ", command)
    return tuple(p.name for p in PRESETS.values() if re.search(rf"(?<![\w.-])(?:{p.installs})", words, re.MULTILINE))


def provide(names: Sequence[str], environ: Mapping[str, str], roots: Sequence[Path], caches: Path) -> Provision:
    """Work out presets. caches: the folder that theirs are made in. roots: no program is taken from there.

    Asks tools, up to a second each; call it in a thread. Raises `PresetError`, and `OSError` if a cache cannot be made.
    """
    allow, env, folders = AllowList(), certificates(environ), list[Path]()
    for name in names:
        preset = PRESETS[name]
        configured = list(_configured(preset, environ))
        answers = [url for question in preset.questions for url in _ask(question, environ, roots)]
        hosts = [*_rules(configured, private=True), *_rules(answers, private=False)]
        if not hosts:
            raise PresetError(_unknown(preset))
        allow = allow.merged(AllowList(tuple(hosts)))
        env |= {n: v for n in preset.variables if (v := environ.get(n, "")) and not LOGIN_IN_URL.search(v)}
        if preset.told and answers and not LOGIN_IN_URL.search(answers[0]):
            env[preset.told] = answers[0]
        folder = caches / name
        for variable, below in preset.caches.items():
            (folder / below).mkdir(parents=True, exist_ok=True)
            env[variable] = str(folder / below)
        env |= preset.settings
        folders.append(folder)
    return Provision(allow, env, tuple(folders))


def certificates(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables of `COMMON_VARIABLES` as the user has them."""
    return {name: environ[name] for name in COMMON_VARIABLES if environ.get(name)}


def _configured(preset: Preset, environ: Mapping[str, str]) -> Iterator[str]:
    """Addresses of registries in the user's environment and configuration."""
    for name in preset.variables:
        yield from _URL.findall(environ.get(name, ""))
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        return
    for pattern in preset.files:
        for path in glob.glob(os.path.join(glob.escape(home), pattern)):
            for line in _read(path).splitlines():
                if not _PROXY_KEY.match(line):
                    yield from _URL.findall(line)
    if preset.named_folders:
        for path in glob.glob(os.path.join(glob.escape(home), preset.named_folders)):
            yield f"https://{os.path.basename(path).rpartition('-')[0]}"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(CONFIG_BYTES)
    except OSError:
        return ""


def _ask(question: Sequence[str], environ: Mapping[str, str], roots: Sequence[Path]) -> list[str]:
    """Addresses that a tool names, [] if it is not there or fails."""
    program, *arguments = question
    found = program if os.path.isabs(program) else find_program(program, environ.get("PATH", os.defpath), roots)
    if found is None:
        return []
    try:
        # Not in the workspace, whose configuration must not decide.
        done = subprocess.run(
            [found, *arguments],
            cwd="/",
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=QUESTION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    if done.returncode:
        return []
    # A checksum database is named without a scheme.
    words = [word if "://" in word else f"https://{word}" for word in re.split(r"[\s,|]+", done.stdout) if "." in word]
    return [word for word in words if _URL.fullmatch(word)]


def _rules(urls: Sequence[str], *, private: bool) -> Iterator[HostRule]:
    """Rules for the hosts of addresses. private: they may be on the user's own network, as he named them himself."""
    for url in urls:
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            name = f"[{host}]" if ":" in host else host
            rules = allow_list([f"{name}:{parts.port}" if parts.port else name]).hosts
        except (ValueError, RuleError):
            continue
        yield from (HostRule(rule.name, rule.ports, private) for rule in rules)


def _unknown(preset: Preset) -> str:
    asked = " or ".join(sorted({os.path.basename(question[0]) for question in preset.questions})) or "its configuration"
    return (
        f"no registry for {preset.name} was found by asking {asked}. Install it, use it once outside of Pool, or name "
        "the hosts yourself: --net HOST,HOST"
    )
