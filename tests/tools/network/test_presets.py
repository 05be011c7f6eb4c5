"""Presets: registries as the user's own configuration and tools say them, and the choice on the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pool_tools.network.choice import Network, advice, network_for
from pool_tools.network.presets import PRESETS, PresetError, presets_for, provide
from pool_tools.network.rules import RuleError


class User:
    """A home, and programs that answer as the real ones do."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.caches = base / "caches"
        self.bin = base / "bin"
        self.bin.mkdir()
        self.environ = {"HOME": str(base), "PATH": f"{self.bin}:/usr/bin:/bin"}

    def file(self, name: str, text: str) -> None:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def program(self, name: str, script: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def hosts(self, *names: str) -> list[str]:
        found = provide(names, self.environ, (self.base / "work",), self.caches)
        return [str(rule) for rule in found.allow.hosts]

    def env(self, *names: str) -> dict[str, str]:
        return dict(provide(names, self.environ, (self.base / "work",), self.caches).env)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_pip_names_its_own_registry(user: User) -> None:
    """What the installed pip has built in, without a word of configuration."""
    found = [host for host in user.hosts("python") if not host.startswith("private:")]
    assert len(found) == 2
    assert all("." in host for host in found)


def test_a_python_mirror_in_configuration_and_environment(user: User) -> None:
    user.file(
        ".config/pip/pip.conf",
        "[global]\nindex-url = https://mirror.corp.example/pypi\n# https://comment.example\n"
        "proxy = http://proxy.corp.example:3128\ncert = /etc/x.pem\nextra-index-url =\n    http://two.example:8081/x\n",
    )
    user.file(".config/uv/uv.toml", '[[index]]\nurl = "https://uv.example/simple-index"\n')
    user.environ["PIP_INDEX_URL"] = "https://me:secret@env.example/x"
    user.environ["UV_DEFAULT_INDEX"] = "https://plain.example/x"
    hosts = user.hosts("python")
    for host in ("mirror.corp.example", "two.example:8081", "uv.example", "env.example", "plain.example"):
        assert f"private:{host}" in hosts
    assert not [host for host in hosts if "proxy" in host]
    env = user.env("python")
    assert env["UV_DEFAULT_INDEX"] == "https://plain.example/x"
    assert "secret" not in str(env)


def test_caches_are_pools_own_and_are_made(user: User) -> None:
    env = user.env("python")
    assert env["PIP_CACHE_DIR"] == str(user.caches / "python/pip")
    assert Path(env["UV_CACHE_DIR"]).is_dir()
    found = provide(["python"], user.environ, (), user.caches)
    assert found.caches == (user.caches / "python",)


def test_npm_is_asked_outside_the_workspace(user: User) -> None:
    user.program("npm", '[ "$(pwd)" = / ] && [ "$*" = "config get registry" ] && echo https://npm.example/')
    user.file(".npmrc", "@corp:registry=https://corp.example/npm/\n//corp.example/npm/:_authToken=abc\n")
    user.environ["NODE_EXTRA_CA_CERTS"] = "/etc/corp.pem"
    assert user.hosts("node") == ["private:corp.example", "npm.example"]
    env = user.env("node")
    assert env["npm_config_registry"] == "https://npm.example/"
    assert env["NODE_EXTRA_CA_CERTS"] == "/etc/corp.pem"
    assert env["npm_config_cache"] == str(user.caches / "node/npm")


def test_a_program_in_the_workspace_is_not_asked(user: User) -> None:
    user.environ["PATH"] = str(user.base / "work/bin")
    (user.base / "work").mkdir()
    user.bin.rename(user.base / "work/bin")
    user.bin = user.base / "work/bin"
    user.program("npm", "echo https://evil.example/")
    with pytest.raises(PresetError, match="by asking npm"):
        user.hosts("node")


def test_go_names_proxy_and_checksum_database(user: User) -> None:
    user.program("go", 'printf "https://mod.example,https://two.example|direct\\nsum.example\\n"')
    assert user.hosts("go") == ["mod.example", "two.example", "sum.example"]


def test_cargo_is_known_by_what_it_left_behind(user: User) -> None:
    user.file(".cargo/registry/index/index.example-1949cf8c6b5b557f/config.json", '{"dl":"https://dl.example/crates"}')
    user.file(".cargo/config.toml", '[source.mirror]\nregistry = "sparse+https://cargo.example:8443/index/"\n')
    assert user.hosts("rust") == ["private:cargo.example:8443", "private:dl.example", "private:index.example"]
    assert user.env("rust")["CARGO_HOME"] == str(user.caches / "rust/cargo")


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "echo undefined", "kill -9 $$"])
def test_a_tool_that_does_not_say(user: User, script: str) -> None:
    user.program("npm", script)
    with pytest.raises(PresetError, match=r"no registry for node .* --net HOST"):
        user.hosts("node")


def test_what_a_workspace_needs(tmp_path: Path) -> None:
    assert presets_for(tmp_path) == ()
    assert advice(tmp_path) == "--net HOST allows one host"
    (tmp_path / "uv.lock").touch()
    (tmp_path / "package.json").touch()
    (tmp_path / "go.mod").mkdir()
    assert presets_for(tmp_path) == ("python", "node")
    assert "--net python,node allows installing packages" in advice(tmp_path)


def test_every_preset_keeps_its_caches_apart() -> None:
    variables = [variable for preset in PRESETS.values() for variable in preset.caches]
    assert len(variables) == len(set(variables))


def test_choices(user: User) -> None:
    def choose(text: str) -> Network:
        return network_for(text, user.environ, (), user.caches)

    assert choose("") == choose("off") == choose(" off ") == Network()
    assert choose("on").on
    assert choose("on").allow is None
    listed = choose("example.org, .example.net,localhost:5432")
    assert str(listed.allow) == "example.org, .example.net, localhost:5432"
    assert (listed.on, listed.caches, dict(listed.env)) == (False, (), {})
    both = choose("python,example.org")
    assert str(both.allow).startswith("example.org, ")
    assert both.caches == (user.caches / "python",)
    for text in ("on,example.org", "off,python", "https://example.org"):
        with pytest.raises(RuleError):
            choose(text)
    with pytest.raises(PresetError):
        choose("rust")


def test_caches_that_cannot_be_made(user: User) -> None:
    user.caches.touch()
    with pytest.raises(PresetError, match="cannot be made"):
        network_for("python", user.environ, (), user.caches)


def test_certificates_of_the_user_go_along(user: User) -> None:
    user.environ["SSL_CERT_FILE"] = "/etc/corp.pem"
    assert network_for("on", user.environ, (), user.caches).env == {"SSL_CERT_FILE": "/etc/corp.pem"}


def test_a_python_without_pip_is_asked_all_the_same(user: User, tmp_path: Path) -> None:
    """An environment made by uv has no pip; the standard library has one packed."""
    where = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(where)], check=True)
    question = PRESETS["python"].questions[0]
    done = subprocess.run(
        [str(where / "bin/python"), *question[1:]], capture_output=True, text=True, env=dict(os.environ)
    )
    if "ensurepip" in done.stderr or "No module named 'pip'" in done.stderr:
        # Debian keeps them in a package of their own, in another folder.
        pytest.skip("this Python comes without ensurepip's wheels")
    assert done.stdout.count("https://") == 2
