"""A47 to A50: a launcher that is not there, races, root, and real work."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pool_tools import ToolError
from pool_tools.blocking import CancelFlag
from pool_tools.sandbox import Access, Policy
from pool_tools.sandbox.probe import probe
from pool_tools.workspace import Workspace

from .agents import Agent


def broken(folder: Path) -> dict[str, str]:
    """An environment whose bwrap fails as it does where namespaces are refused."""
    fake = folder / "bin/bwrap"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "bubblewrap 0.9.0" && exit\n'
        'echo "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n'
    )
    fake.chmod(0o755)
    return {"PATH": f"{fake.parent}:/usr/bin:/bin", "HOME": str(folder)}


def test_a47_a_launcher_that_fails_drops_the_tier_and_says_so(tmp_path: Path) -> None:
    policy = Policy((tmp_path / "work",))
    policy.roots[0].mkdir()
    found = probe(policy, broken(tmp_path))
    assert found.tier in ("landlock", "none")
    assert "setting up uid map" in found.reason
    assert found.remedy
    assert "setting up uid map" in found.note
    found.sandbox.close()
    none = probe(policy, {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, ("bubblewrap",))
    assert none.tier == "none"
    assert "setting up uid map" in none.note


def test_a47_a_launcher_in_the_workspace_is_not_used(tmp_path: Path) -> None:
    found = probe(Policy((tmp_path,)), {**broken(tmp_path), "PATH": str(tmp_path / "bin")}, ("bubblewrap",))
    assert found.tier == "none"
    assert "workspace" in found.reason


def test_a47_what_a_tier_cannot_express_it_says(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    found = probe(Policy((tmp_path,)), env, ("landlock",))
    assert found.tier == "none"
    assert "cannot hide" in found.reason
    assert probe(Policy((tmp_path,), Access.FULL), env).tier == "none"
    external = probe(Policy((tmp_path / "work",), Access.EXTERNAL), env)
    assert external.tier == "external"
    external.sandbox.close()


def test_a47_read_only(agent: Agent, tmp_path: Path) -> None:
    work = agent.base / "work"
    found = probe(Policy((work,), Access.READ_ONLY), tiers=(agent.tier,))
    launch = found.sandbox.wrap(("sh", "-c", "cat f; touch x; touch $TMPDIR/x && echo tmp"), work, dict(os.environ))
    agent.file("f", "read\n")
    done = subprocess.run(launch.argv, env=launch.env, capture_output=True, text=True, cwd=work)
    assert done.stdout.split() == ["read", "tmp"]
    assert not (work / "x").exists()
    found.sandbox.close()


SWAPS = """
import os, sys
while True:
    os.rename('d', 'away'); os.rename('link', 'd')
    os.rename('d', 'link'); os.rename('away', 'd')
"""
READS, WRITES = 18_000, 2_000


@pytest.mark.slow
def test_a48_links_swapped_while_files_are_read_and_written(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work / "d", outside):
        folder.mkdir(parents=True)
        (folder / "f").write_text("inside" if folder.parent == work else "outside")
    (work / "link").symlink_to(outside)
    swapper = subprocess.Popen([sys.executable, "-c", SWAPS], cwd=work)
    workspace = Workspace(work)
    met: set[bytes | str] = set()
    try:
        for number in range(READS + WRITES):
            try:
                with workspace.locate("d/f") as place:
                    if number < READS:
                        met.add(workspace.read(place).data)
                    else:
                        data = workspace.read(place)
                        workspace.replace(place, b"inside", data.stat, CancelFlag())
            except ToolError as error:
                met.add(str(error).split(":")[0])
    finally:
        swapper.kill()
        swapper.wait()
        workspace.close()
    assert (outside / "f").read_text() == "outside"
    assert os.listdir(outside) == ["f"]
    assert b"inside" in met
    assert b"outside" not in met
    assert any(isinstance(m, str) and "outside the workspace" in m for m in met), "no swap fell into a call"


def test_a49_root_has_no_rights_inside(agent: Agent) -> None:
    if not agent.is_root:
        pytest.skip("this agent is no root")
    assert agent.out("id -u") == "0"
    assert agent.out("grep -c '^Cap\\(Eff\\|Prm\\|Bnd\\):.0*$' /proc/self/status") == "3"
    with tempfile.NamedTemporaryFile(prefix="escape-", dir="/etc") as file:
        path = file.name
        before = os.stat(path)
        agent.shell(f"echo x >> {path}; rm {path}; mv {path} {path}2; chown 1 {path}")
        after = os.stat(path)
        assert (after.st_size, after.st_uid, after.st_ino) == (before.st_size, before.st_uid, before.st_ino)
    assert not agent.shell('date -s "$(date)"').ok


def test_a49_the_systems_devices_keep_their_modes(agent: Agent) -> None:
    """bubblewrap binds them from the system, whose root owns them: a mode that was changed comes back, and is told."""
    before = stat.S_IMODE(os.stat("/dev/full").st_mode)
    told = "the mode of /dev/full was changed and has been put back"
    try:
        # The device is the whole machine's: a sandbox of another test that ends in between puts it back first.
        for _ in range(20):
            said = agent.shell("chmod 600 /dev/full").text
            assert stat.S_IMODE(os.stat("/dev/full").st_mode) == before or agent.tier == "landlock"
            if told in said or not (agent.is_root and agent.tier == "bubblewrap"):
                break
        else:
            pytest.fail("twenty changes of the mode were put back without a word")
    finally:
        if agent.is_root:
            os.chmod("/dev/full", before)


WORK_EVERYWHERE = {
    "sqlite": "import sqlite3\nsqlite3.connect('a.db').execute('pragma journal_mode=wal').fetchone()",
    "temporary files": "import tempfile\ntempfile.NamedTemporaryFile().write(b'x')",
    "subprocess in asyncio": "import asyncio\nasyncio.run(asyncio.create_subprocess_exec('true'))",
    "threads": "import concurrent.futures as f\nwith f.ThreadPoolExecutor(4) as p: list(p.map(abs, range(99)))",
    "moving between folders": "import os\nos.mkdir('a'); os.mkdir('b'); os.rename('b', 'a/b')",
    "modes": "import os\nopen('f', 'w').close(); os.chmod('f', 0o755); os.utime('f', (1, 1))",
}
WORK_IN_NAMESPACES = {
    "process pool": "import concurrent.futures as f\nwith f.ProcessPoolExecutor(2) as p: sum(p.map(abs, range(9)))",
    "local server": "import socket as s\na = s.create_server(('127.0.0.1', 0)); s.create_connection(a.getsockname())",
    "pty": "import pty\nassert pty.spawn(['true']) == 0",
    "semaphores": "import multiprocessing as m\nm.Lock().acquire()",
}


@pytest.mark.parametrize("script", WORK_EVERYWHERE.values(), ids=WORK_EVERYWHERE.keys())
def test_a50_work_that_goes_on_everywhere(agent: Agent, script: str) -> None:
    reply = agent.python(script)
    assert reply.ok, reply.text


@pytest.mark.parametrize("script", WORK_IN_NAMESPACES.values(), ids=WORK_IN_NAMESPACES.keys())
def test_a50_work_that_takes_namespaces(agent: Agent, script: str) -> None:
    reply = agent.python(script)
    if agent.tier == "bubblewrap":
        assert reply.ok, reply.text
    else:
        assert not reply.ok
        assert "Landlock" in reply.text


NODE_SCRIPT = "require('fs').writeFileSync('x', '1'); console.log(6 * 7)"


def test_a50_compiler_and_node(agent: Agent) -> None:
    agent.file("a.c", '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n')
    if shutil.which("gcc"):
        assert agent.out("gcc -O1 -o a a.c && ./a") == "built"
    if shutil.which("node"):
        assert agent.out(f'node -e "{NODE_SCRIPT}"') == "42"


def test_a50_commit_in_a_worktree(agent: Agent) -> None:
    agent.repository()
    commit = "git add a && git commit -qm two && git log --oneline"
    reply = agent.shell(f"git worktree add -q tree && cd tree && echo x > a && {commit}")
    assert reply.ok, reply.text
    assert "put back" not in reply.text
    assert len(agent.git("-C", "tree", "log", "--oneline").splitlines()) == 2


# getpid of i386 by `int 0x80`: system calls have other numbers there, so that no rule for x86_64 would fit.
FOREIGN_CALL = """
import ctypes, mmap, os
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))
answer = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
print("own id" if answer == os.getpid() else answer)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="these are instructions of another machine")
def test_system_calls_by_another_machines_numbers(agent: Agent) -> None:
    told = subprocess.run([sys.executable, "-c", FOREIGN_CALL], capture_output=True, text=True, check=False).stdout
    if told.strip() != "own id":
        pytest.skip("this kernel takes no such calls from anybody")
    assert agent.python(FOREIGN_CALL).output.strip() == str(-errno.ENOSYS)
