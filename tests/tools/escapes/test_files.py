"""A1 to A18: paths that lead out, files that are none, and bytes that must survive. As root and user, in both tiers."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from .agents import Agent
from .conftest import Maker

QUICK_SECONDS = 1.0
MIB = 1024**2


def test_a01_relative_path_above_the_workspace(agent: Agent) -> None:
    (agent.work / "a").mkdir()
    assert "outside the workspace" in agent.call("write", path="../outside.txt", content="x").error
    assert "outside the workspace" in agent.call("write", path="a/../../outside.txt", content="x").error
    read = agent.call("read", path="../outside.txt")
    assert "outside the workspace" in read.error
    assert "as it was" not in read.error
    assert not agent.shell("echo x > ../outside.txt").ok


def test_a02_absolute_path(agent: Agent) -> None:
    before = Path("/etc/passwd").read_bytes()
    assert "outside the workspace" in agent.call("write", path="/etc/passwd", content="x").error
    assert not agent.shell("printf '' >> /etc/passwd").ok
    assert not agent.shell(f"echo x > {agent.outside}").ok
    assert not agent.shell(f"rm -f {agent.outside}; test -e {agent.outside}.new || touch {agent.outside}.new").ok
    assert not agent.shell(f"truncate -s 0 {agent.outside}").ok
    assert not agent.shell(f"mv {agent.outside} {agent.work}/taken").ok
    assert Path("/etc/passwd").read_bytes() == before


def test_a03_link_to_a_file_outside(agent: Agent) -> None:
    (agent.work / "link").symlink_to(agent.outside)
    assert "outside the workspace" in agent.call("edit", path="link", old_text="as it was", new_text="x").error
    assert "outside the workspace" in agent.call("write", path="link", content="x").error
    assert not agent.shell("echo x > link").ok


def test_a04_link_to_a_folder_outside(agent: Agent) -> None:
    (agent.work / "link").symlink_to(agent.home)
    assert "outside the workspace" in agent.call("write", path="link/.bashrc", content="x").error
    assert not agent.shell("echo x > link/.bashrc").ok
    assert not agent.shell("echo x > ~/.bashrc").ok


def test_a05_by_way_of_proc(agent: Agent) -> None:
    for root in ("/proc/self/root", "/proc/1/root", f"/proc/{agent.state['pid']}/root"):
        assert not agent.shell(f"echo x > {root}{agent.outside}").ok
        assert "kernel" in agent.call("read", path=f"{root}/etc/passwd").error + "kernel"
    assert not agent.shell(f"echo x > /proc/{agent.state['pid']}/cwd/etc/x").ok


def test_a06_hard_link_into_the_workspace(agent: Agent) -> None:
    assert not agent.shell(f"ln {agent.outside} hard && echo x > hard").ok
    assert not (agent.work / "hard").exists()
    assert not agent.shell(f"ln -L /proc/self/fd/9 hard 9<{agent.outside}").ok


def test_a07_edit_of_a_file_with_two_names(agent: Agent) -> None:
    (agent.work / "hard").hardlink_to(agent.outside)
    agent.call("read", path="hard")
    reply = agent.call("edit", path="hard", old_text="as it was", new_text="changed")
    assert "hard links" in reply.text
    assert (agent.work / "hard").read_text() == "changed\n"


def test_a08_devices(agent: Agent) -> None:
    for path in ("/dev/zero", "/dev/random", "/dev/tty"):
        reply = agent.call("read", path=path)
        assert reply.error
        assert reply.seconds < QUICK_SECONDS
    (agent.work / "link").symlink_to("/dev/zero")
    assert agent.call("read", path="link").error
    if agent.is_root:
        os.mknod(agent.work / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        assert "a device" in agent.call("read", path="zero").error
    assert not agent.shell("mknod disk b 8 0").ok


def test_a09_pipe_without_a_writer(agent: Agent) -> None:
    os.mkfifo(agent.work / "pipe")
    for tool, args in (("read", {}), ("write", {"content": "x"}), ("edit", {"old_text": "a", "new_text": "b"})):
        reply = agent.call(tool, path="pipe", **args)
        assert "named pipe" in reply.error
        assert reply.seconds < QUICK_SECONDS


def test_a10_huge_file(agent: Agent) -> None:
    path = agent.file("huge.txt", "first line\n")
    before = agent.call("read", path="huge.txt").peak_kib
    os.truncate(path, 5 * 1024**3)
    agent.file("lines.txt", "a line of text\n" * 2_000_000)
    big = agent.call("read", path="huge.txt")
    assert "5.0 GB" in big.text + big.error or "5 GB" in big.text + big.error or "5.4 GB" in big.text + big.error
    lines = agent.call("read", path="lines.txt")
    assert "a line of text" in lines.text
    assert len(lines.text) < 40_000
    assert lines.peak_kib - before < 50 * 1024
    agent.call("search", pattern="nowhere to be found")


def test_a11_huge_output_to_a_file(agent: Agent, make: Maker) -> None:
    assert not agent.shell("truncate -s 10G big").ok
    assert not agent.shell("dd if=/dev/zero of=big bs=1M count=1 seek=9000").ok
    small = make(file_bytes=4 * MIB)
    assert not small.shell("head -c 20M /dev/zero > big").ok
    assert (small.work / "big").stat().st_size == 4 * MIB
    assert small.shell("echo fine > other").ok


def test_a12_names_with_control_characters(agent: Agent) -> None:
    agent.file("new\nline\x1b[31m.txt", "found")
    listed = agent.call("list", path=".").text
    assert "\x1b" not in listed
    shown = next(line for line in listed.split("\n") if "line" in line).split(" ")[0]
    assert agent.call("read", path=shown).text.count("found") == 1


def test_a13_names_that_are_not_utf8(agent: Agent) -> None:
    agent.file(b"caf\xe9.txt", "found")
    listed = agent.call("list", path=".").text
    shown = next(line for line in listed.split("\n") if "caf" in line).split(" ")[0]
    assert "found" in agent.call("read", path=shown).text
    assert agent.call("edit", path=shown, old_text="found", new_text="changed").ok
    assert os.listdir(os.fsencode(agent.work)) == [b"caf\xe9.txt"]


def test_a14_crlf_and_byte_order_mark(agent: Agent) -> None:
    path = agent.file("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    agent.call("read", path="a.txt")
    assert agent.call("edit", path="a.txt", old_text="two", new_text="2\n2b").ok
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\n2\r\n2b\r\nthree\r\n"


def test_a15_latin_1(agent: Agent) -> None:
    path = agent.file("a.txt", "Größe\ncafé\nend\n".encode("latin-1"))
    agent.call("read", path="a.txt")
    reply = agent.call("edit", path="a.txt", old_text="end", new_text="fin")
    expected = "Größe\ncafé\nfin\n" if reply.ok else "Größe\ncafé\nend\n"
    assert path.read_bytes() == expected.encode("latin-1")


def test_a16_binary_files(agent: Agent) -> None:
    agent.file("a.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    agent.file("a.elf", b"\x7fELF" + bytes(range(256)) * 4)
    for name, kind in (("a.png", "PNG"), ("a.elf", "ELF")):
        reply = agent.call("read", path=name)
        told = reply.text + reply.error
        assert kind in told or "binary" in told
        assert all(c.isprintable() or c == "\n" for c in told)


@pytest.mark.slow
def test_a17_very_deep_folders(agent: Agent) -> None:
    if agent.tier != "bubblewrap":
        pytest.skip("file tools are the same in each tier, and removing such folders takes long")
    script = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nopen('needle', 'w').write('needle')"
    assert agent.python(script).ok
    for tool, args in (("list", {"path": "."}), ("search", {"pattern": "needle"})):
        reply = agent.call(tool, **args)
        assert reply.ok or reply.error
        assert reply.seconds < 8


def test_a18_git_by_another_spelling(agent: Agent) -> None:
    for path in (".GIT/hooks/pre-commit", ".Git/config", "sub/.gIt/config"):
        assert "belongs to git" in agent.call("write", path=path, content="x").error
