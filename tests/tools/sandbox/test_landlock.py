"""What is Landlock's own: older versions of it, the process that starts commands, and rules that only add."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool_tools.environment import clean_environment
from pool_tools.process import Ended, run_command
from pool_tools.sandbox.base import Access, CannotExpress, NoSandbox, Policy
from pool_tools.sandbox.bounds import Bounds
from pool_tools.sandbox.confine import landlock_abi
from pool_tools.sandbox.landlock import NEWEST_ABI, Landlock
from pool_tools.sandbox.view import without
from pool_tools.supervisor import processes

ABI = landlock_abi()
pytestmark = pytest.mark.skipif(not ABI, reason="this kernel offers no Landlock")

PATIENCE_SECONDS = 10.0


class Cell:
    """A workspace and a home that commands are confined to, with what one command printed."""

    def __init__(self, base: Path, abi: int = ABI, access: Access = Access.WORKSPACE_WRITE, **policy: object) -> None:
        self.work, self.home = base / "work", base / "home"
        for folder in (self.work, self.home):
            folder.mkdir(exist_ok=True)
        self.env = {**clean_environment(os.environ), "HOME": str(self.home)}
        self.sandbox = Landlock(Policy((self.work,), access, **policy), abi, self.env)  # pyright: ignore[reportArgumentType]  # keywords as given
        self.output = b""

    async def run(self, *argv: str, limit: float = 20) -> Ended:
        self.output = b""

        def keep(data: bytes) -> None:
            self.output += data

        return await run_command(argv, self.work, self.env, self.sandbox, limit, keep)

    async def shell(self, command: str, limit: float = 20) -> Ended:
        return await self.run("bash", "-c", command, limit=limit)

    async def python(self, script: str) -> Ended:
        return await self.run("python3", "-c", script)


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    made = Cell(tmp_path)
    yield made
    made.sandbox.close()


@pytest.fixture(params=range(1, NEWEST_ABI + 1))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cell]:
    """A cell that uses no more than an older kernel has."""
    if request.param > ABI:
        pytest.skip(f"this kernel has version {ABI}")
    made = Cell(tmp_path, request.param)
    yield made
    made.sandbox.close()


async def test_every_version_confines(old: Cell, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("as it was")
    for command in (
        f"echo x > {outside}",
        f"echo x > {old.home}/x",
        f"cat <{outside}",
        f"rm {outside}",
        f"mkdir {tmp_path}/new",
        f"ln {outside} hard",
        f"python3 -c 'import os; os.truncate(\"{outside}\", 0)'",
        f"python3 -c 'import os; os.open(\"{outside}\", os.O_RDONLY | os.O_TRUNC)'",
        ": <>/dev/tcp/127.0.0.1/9",
        "unshare -U true",
    ):
        assert (await old.shell(command)).status != 0, command
    assert outside.read_text() == "as it was"
    assert (await old.shell("echo x > a; cat a; > a; rm a; echo $TMPDIR; touch $TMPDIR/x; : > /dev/null")).status == 0


async def test_every_version_keeps_the_agent_from_signals(old: Cell) -> None:
    own = os.getpid()
    for script in (
        f"import os; os.kill({own}, 0)",
        f"import os; os.kill(-os.getpgid({own}), 0)",
        f"import signal, os; signal.pidfd_send_signal(os.open('/proc/{own}', os.O_RDONLY), 0)",
        f"import signal, os; signal.pidfd_send_signal(os.pidfd_open({own}), 0)",
        f"import fcntl, os; r, w = os.pipe(); fcntl.fcntl(r, fcntl.F_SETOWN, {own}); os.kill({own}, 0)",
        f"import ctypes; assert ctypes.CDLL(None).tgkill({own}, {own}, 0) == 0",
        f"import ctypes; assert ctypes.CDLL(None).syscall(129, {own}, 0, ctypes.create_string_buffer(128)) == 0",
        f"import resource; resource.prlimit({own}, resource.RLIMIT_NOFILE, (9, 9))",
    ):
        assert (await old.python(script)).status == 1, script
    assert (await old.python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")).status == 128 + signal.SIGTERM


async def test_what_this_version_lacks_is_said(tmp_path: Path) -> None:
    assert "signalled" in Cell(tmp_path, 5).sandbox.describe()
    assert "signalled" not in Cell(tmp_path, 6).sandbox.describe()
    assert "moved between folders" in Cell(tmp_path, 1).sandbox.describe()
    assert "Weaker than bubblewrap" in Cell(tmp_path).sandbox.describe()


def test_what_cannot_be_expressed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.env").write_text("secret")
    with pytest.raises(CannotExpress, match=r"cannot hide .*\.env"):
        Cell(tmp_path, hidden=(tmp_path / "work/.env",))
    with pytest.raises(CannotExpress):
        Cell(tmp_path, access=Access.FULL)


async def test_hidden_files_in_a_workspace_that_is_only_read(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.env").write_text("secret")
    (tmp_path / "work/a").write_text("plain")
    cell = Cell(tmp_path, access=Access.READ_ONLY, hidden=(tmp_path / "work/.env",))
    assert (await cell.shell("cat a .env; touch b")).status == 1
    assert b"plain" in cell.output
    assert b"secret" not in cell.output
    assert not (cell.work / "b").exists()
    cell.sandbox.close()


async def test_a_secret_that_appears_during_the_session_is_hidden(cell: Cell) -> None:
    (cell.home / "plain").write_text("plain")
    assert (await cell.shell("cat ~/plain")).status == 0
    (cell.home / ".ssh").mkdir()
    (cell.home / ".ssh/id").write_text("secret")
    assert (await cell.shell("cat ~/.ssh/id")).status != 0
    assert (await cell.shell("cat ~/plain; ls ~")).status == 0


async def test_network_on_means_internet_sockets_only(tmp_path: Path) -> None:
    cell = Cell(tmp_path, network=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert (await cell.shell(f": <>/dev/tcp/127.0.0.1/{server.getsockname()[1]}")).status == 0
    assert (await cell.python("import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)")).status == 0
    for kind in ("socket.AF_UNIX", "17, 3", "40", "socket.AF_INET, socket.SOCK_RAW, 1", "socket.AF_INET, 1, 262"):
        assert (await cell.python(f"import socket; socket.socket({kind})")).status == 1, kind
    assert "servers on this machine can be reached" in cell.sandbox.describe()
    cell.sandbox.close()


async def test_bounds(tmp_path: Path) -> None:
    cell = Cell(tmp_path, bounds=Bounds(file_bytes=1 << 20, open_files=100))
    assert (
        await cell.shell("head -c 2M /dev/zero > big; ulimit -c; ulimit -Hn; cat /proc/self/oom_score_adj")
    ).status == 0
    assert cell.output.split()[-3:] == [b"0", b"100", b"1000"]
    assert (cell.work / "big").stat().st_size == 1 << 20
    cell.sandbox.close()


async def test_wrap_confines_as_start_does(cell: Cell, tmp_path: Path) -> None:
    launch = cell.sandbox.wrap(("sh", "-c", f"echo in > a; echo out > {tmp_path}/x; pwd"), cell.work, cell.env)
    done = subprocess.run(launch.argv, env=launch.env, cwd=cell.work, capture_output=True, text=True)
    assert done.stdout.strip() == str(cell.work)
    assert (cell.work / "a").exists()
    assert not (tmp_path / "x").exists()
    missing = cell.sandbox.wrap(("/nonexistent",), cell.work, cell.env)
    assert subprocess.run(missing.argv, env=missing.env, capture_output=True).returncode == 127


async def test_a_command_that_does_not_exist(cell: Cell) -> None:
    ended = await cell.run("/nonexistent/program")
    assert ended.status == 127
    assert b"No such file" in cell.output


async def test_a_folder_that_does_not_exist(cell: Cell) -> None:
    os.rmdir(cell.work)
    ended = await cell.run("true")
    assert ended.status is None
    assert b"could not be set up" in cell.output


async def test_long_arguments_and_odd_bytes(cell: Cell) -> None:
    text = "ä\udcff" + "x" * 100_000
    assert (await cell.run("printf", "%s", text)).status == 0
    assert cell.output == os.fsencode(text)


async def test_commands_side_by_side(tmp_path: Path) -> None:
    cell = Cell(tmp_path)
    outputs: list[bytes] = []

    async def one(number: int) -> Ended:
        argv = ("sh", "-c", f"sleep 0.2; echo {number}")
        return await run_command(argv, cell.work, cell.env, cell.sandbox, 20, outputs.append)

    ended = await asyncio.gather(*(one(number) for number in range(8)))
    assert [e.status for e in ended] == [0] * 8
    assert sorted(b"".join(outputs).split()) == [str(n).encode() for n in range(8)]
    cell.sandbox.close()


async def test_the_server_is_started_anew_when_it_was_killed(cell: Cell) -> None:
    assert (await cell.shell("true")).status == 0
    for pid, (parent, _) in processes().items():
        if parent == os.getpid() and b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    assert (await cell.shell("echo again")).status == 0


async def test_a_killed_supervisor_leaves_nothing(cell: Cell) -> None:
    needle = f"{300 + os.getpid() % 1000}.25"

    async def kill() -> None:
        await until(lambda: len(named(needle)) == 2)
        naps = named(needle)
        os.kill(parent_of(min(naps)), signal.SIGKILL)

    killer = asyncio.ensure_future(kill())
    ended = await cell.shell(f"setsid sleep {needle} & exec sleep {needle}")
    await killer
    assert ended.status is None
    await until(lambda: not named(needle))


DAEMON = """
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.execvp('sleep', ['sleep', sys.argv[1]])
"""


@pytest.mark.slow
async def test_daemons_that_change_their_parent_while_they_are_looked_for(tmp_path: Path) -> None:
    needle = f"{900 + os.getpid() % 1000}.125"
    for sandbox in (Landlock(Policy((tmp_path,)), ABI), NoSandbox(kept=True)):
        for _ in range(10):
            argv = (sys.executable, "-S", "-c", DAEMON, needle)
            env = clean_environment(os.environ)
            commands = (run_command(argv, tmp_path, env, sandbox, 20, lambda _: None) for _ in range(4))
            await asyncio.gather(*commands)
            await asyncio.sleep(0.05)
            assert named(needle) == []
        sandbox.close()


async def test_everything_dies_with_the_agent(cell: Cell, tmp_path: Path) -> None:
    needle = f"{600 + os.getpid() % 1000}.5"
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from pool_tools.process import run_command\n"
        "from pool_tools.sandbox.base import Policy\n"
        "from pool_tools.sandbox.landlock import Landlock\n"
        "root = Path(sys.argv[1])\n"
        "command = ('sh', '-c', f'setsid sleep {sys.argv[2]} & sleep {sys.argv[2]}')\n"
        "asyncio.run(run_command(command, root, dict(os.environ), Landlock(Policy((root,)), 7), 60, print))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    agent = subprocess.Popen([sys.executable, "-c", script, str(cell.work), needle], env=env)
    await until(lambda: len(named(needle)) == 2)
    agent.kill()
    agent.wait()
    await until(lambda: not named(needle))
    await until(lambda: not any("forkserver" in line for line in lines_of_children(1)))


async def test_close_ends_the_server(cell: Cell) -> None:
    await cell.shell("true")
    assert any("forkserver" in line for line in lines_of_children(os.getpid()))
    cell.sandbox.close()
    assert not any("forkserver" in line for line in lines_of_children(os.getpid()))


def parent_of(pid: int) -> int:
    return processes()[pid][0]


def line_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def named(needle: str) -> list[int]:
    return [pid for pid, (_, name) in processes().items() if name == "sleep" and needle in line_of(pid)]


def lines_of_children(parent: int) -> list[str]:
    return [line_of(pid) for pid, (above, _) in processes().items() if above == parent]


async def until(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.02)


NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


@given(st.sets(NAMES, max_size=12), st.sets(NAMES, max_size=4))
def test_rules_cover_all_but_what_is_hidden(
    tmp_path_factory: pytest.TempPathFactory, files: set[str], hidden: set[str]
) -> None:
    top = tmp_path_factory.mktemp("tree")
    for name in files:
        (top / name).mkdir(parents=True, exist_ok=True)
    secret = [top / name for name in hidden]
    covered = [Path(path) for path in without(str(top), secret)]
    for name in files:
        path = top / name
        below_secret = any(path.is_relative_to(other) for other in secret)
        above_secret = any(other.is_relative_to(path) and other != path for other in secret)
        is_covered = any(path.is_relative_to(other) for other in covered)
        assert is_covered is not (below_secret or above_secret)
    assert not any(other.is_relative_to(path) for other in secret for path in covered)
