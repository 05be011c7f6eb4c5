"""What commands see of the home in the bubblewrap tier: tools and caches, and nothing that is not named."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pool_tools.environment import clean_environment
from pool_tools.sandbox.base import CanOnlyRead, Policy
from pool_tools.sandbox.home import narrowed_homes

from ..conftest import bubblewrap


class Lodger:
    """A user with a home, and a workspace in it."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.work = self.home / "src/work"
        self.work.mkdir(parents=True)
        self.env = {**clean_environment(os.environ), "HOME": str(self.home)}
        self.readable: tuple[Path, ...] = ()

    def keep(self, name: str, text: str = "kept\n") -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def out(self, command: str, *, reading: bool = False) -> str:
        sandbox = bubblewrap(self.work, readable=self.readable)
        try:
            assert isinstance(sandbox, CanOnlyRead)
            launch = (sandbox.read_only() if reading else sandbox).wrap(("/bin/sh", "-c", command), self.work, self.env)
            return subprocess.run(launch.argv, env=launch.env, capture_output=True, text=True, check=False).stdout
        finally:
            sandbox.close()


@pytest.fixture
def lodger(tmp_path: Path) -> Lodger:
    return Lodger(tmp_path)


def test_only_tools_and_caches_are_seen(lodger: Lodger) -> None:
    hidden = ("letter.txt", "Documents/tax.pdf", ".config/unknown-agent/token", ".bashrc", "src/other/.env")
    shown = (".cargo/bin/tool", ".cache/pip/x", ".gitconfig", ".local/bin/tool", ".config/git/config")
    for name in (*hidden, *shown):
        lodger.keep(name)
    assert lodger.out(f"cd ~ && cat {' '.join(hidden)}") == ""
    assert lodger.out(f"cd ~ && cat {' '.join(shown)}") == "kept\n" * len(shown)
    assert lodger.out("ls -A ~").split() == [".cache", ".cargo", ".config", ".gitconfig", ".local", "src"]
    assert lodger.out("ls -A ~/src") == "work\n"


def test_the_repository_of_a_linked_worktree_is_there_and_nothing_around_it(lodger: Lodger) -> None:
    """It lies beside the workspace, in a home of which nothing else is shown."""
    main = lodger.home / "src/main"
    lodger.keep("src/main/letter.txt")
    lodger.keep(".gitconfig", "[user]\n\tname = T\n\temail = t@example.org\n")
    lodger.work.rmdir()
    steps = (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x"), ("worktree", "add", "-q", str(lodger.work)))
    for args in steps:
        subprocess.run(["git", *args], cwd=main, check=True, capture_output=True, env=lodger.env)
    assert lodger.out("git log --format=%s", reading=True) == "x\n"
    assert lodger.out("git commit -q --allow-empty -m y && git log --format=%s") == "y\nx\n"
    assert lodger.out(f"git config a.b c; cat {main}/letter.txt; ls -A {main}") == ".git\n"
    assert lodger.out("touch ~/x ~/src/x; ls -A ~/src") == "main\nwork\n"
    assert "a.b" not in subprocess.check_output(["git", "config", "--list"], cwd=main, text=True, env=lodger.env)


def test_secrets_beside_tools_stay_hidden(lodger: Lodger) -> None:
    lodger.keep(".cargo/credentials.toml")
    lodger.keep(".cache/huggingface/token")
    assert lodger.out("cat ~/.cargo/credentials.toml ~/.cache/huggingface/token") == ""


def test_linked_tools_are_seen_and_their_secrets_are_not(lodger: Lodger) -> None:
    lodger.keep("dotfiles/gitconfig", "[user]\n")
    lodger.keep("dotfiles/cargo/bin/tool")
    lodger.keep("dotfiles/cargo/credentials.toml")
    (lodger.home / ".gitconfig").symlink_to("dotfiles/gitconfig")
    (lodger.home / ".cargo").symlink_to(lodger.home / "dotfiles/cargo")
    assert lodger.out("cat ~/.gitconfig ~/.cargo/bin/tool") == "[user]\nkept\n"
    assert lodger.out("cat ~/.cargo/credentials.toml ~/dotfiles/cargo/credentials.toml") == ""


def test_hooks_and_files_that_gits_own_configuration_names_are_seen(lodger: Lodger) -> None:
    lodger.keep(".gitconfig", '[core]\n\thooksPath = ~/my/hooks\n[include]\n\tpath = "my/more"\n')
    lodger.keep("my/more", f"[commit]\n\ttemplate = {lodger.home}/my/template\n")
    hook = lodger.keep("my/hooks/pre-commit", "#!/bin/sh\necho hook ran\nexit 1\n")
    hook.chmod(0o755)
    lodger.keep("my/template")
    lodger.keep("my/diary")
    made = "git init -q && touch a && git add a && git -c user.name=x -c user.email=x@y commit -qm one 2>&1; "
    assert lodger.out(made + "cat ~/my/template; cat ~/my/diary") == "hook ran\nkept\n"


def test_a_configuration_that_includes_itself_is_read_once(lodger: Lodger) -> None:
    lodger.keep(".gitconfig", "[include]\n\tpath = .gitconfig\n\tpath = ~/more\n")
    lodger.keep("more", "[include]\n\tpath = ~/.gitconfig\n")
    assert lodger.out("ls -A ~").split() == [".gitconfig", "more", "src"]


def test_programs_of_path_come_with_what_lies_around_them(lodger: Lodger) -> None:
    lodger.keep("opt/node/bin/node")
    lodger.keep("opt/node/lib/module")
    lodger.keep("opt/private")
    lodger.env["PATH"] += f":{lodger.home}/opt/node/bin"
    assert lodger.out("cat ~/opt/node/bin/node ~/opt/node/lib/module; cat ~/opt/private") == "kept\n" * 2


def test_what_the_user_names_is_seen_even_a_secret(lodger: Lodger) -> None:
    lodger.keep("notes/todo.txt")
    lodger.keep(".npmrc")
    lodger.keep(".config/gh/hosts.yml")
    lodger.readable = (lodger.home / "notes", lodger.home / ".npmrc", lodger.home / ".config")
    assert lodger.out("cat ~/notes/todo.txt ~/.npmrc; cat ~/.config/gh/hosts.yml") == "kept\n" * 2


def test_nothing_is_written_to_the_home(lodger: Lodger) -> None:
    lodger.keep(".cache/x")
    before = sorted(path for path, _, _ in os.walk(lodger.home))
    lodger.out("echo x > ~/new; mkdir ~/.ssh; echo x > ~/.cache/y; echo x > ~/src/new; touch ok")
    assert sorted(path for path, _, _ in os.walk(lodger.home)) == before
    assert sorted(os.listdir(lodger.home / "src/work")) == ["ok"]
    assert sorted(os.listdir(lodger.home)) == [".cache", "src"]


@pytest.mark.parametrize("home", ["/", "/usr/sbin", "/var", "/tmp"])
def test_folders_of_the_system_are_no_homes(home: str) -> None:
    assert Path(home) not in [h.path for h in narrowed_homes({"HOME": home}, (Path("/nowhere"),))]


def test_a_home_within_the_workspace_is_not_narrowed(tmp_path: Path) -> None:
    assert tmp_path not in [h.path for h in narrowed_homes({"HOME": str(tmp_path)}, (tmp_path,))]
    assert Policy((tmp_path,)).readable == ()
