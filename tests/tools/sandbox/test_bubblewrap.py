"""Attempts to get out of the bubblewrap tier, and real work that must go on inside."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool_tools.environment import FIXED, clean_environment
from pool_tools.sandbox.base import Access, Policy
from pool_tools.sandbox.bubblewrap import Bubblewrap
from pool_tools.sandbox.gitguard import git_paths
from pool_tools.sandbox.probe import LazySandbox, Probe, probe
from pool_tools.sandbox.syscalls import ARCHITECTURES
from pool_tools.supervisor import processes


@pytest.fixture(scope="module")
def program() -> str:
    found = probe(Policy((Path("/nonexistent"),)))
    if not isinstance(found.sandbox, Bubblewrap):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no bubblewrap here: {found.reason}")
    return "bwrap"


class Cell:
    """A workspace and a home, with a sandbox over them."""

    def __init__(self, base: Path, **policy: object) -> None:
        self.base = base
        self.work = base / "work"
        self.home = base / "home"
        self.work.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.env = {**clean_environment(os.environ), "HOME": str(self.home)}
        self.policy = Policy((self.work,), **policy)  # pyright: ignore[reportArgumentType]  # keywords as given
        self.found = probe(self.policy, self.env)

    def run(self, command: str, **env: str) -> subprocess.CompletedProcess[str]:
        launch = self.found.sandbox.wrap(("bash", "-c", command), self.work, {**self.env, **env})
        return subprocess.run(
            launch.argv,
            env=launch.env,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
        )

    def out(self, command: str, **env: str) -> str:
        return self.run(command, **env).stdout.strip()


@pytest.fixture
def seen_base() -> Iterator[Path]:
    """A folder that commands can see: /tmp, where pytest's own are, is replaced by a private one."""
    parent = Path(__file__).parents[3] / ".pytest_cache"
    parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sandbox-", dir=parent) as base:
        yield Path(base)


@pytest.fixture
def cell(seen_base: Path, program: str) -> Iterator[Cell]:
    made = Cell(seen_base)
    yield made
    made.found.sandbox.close()


def test_probe_names_the_tier(cell: Cell) -> None:
    assert (cell.found.tier, cell.found.reason, cell.found.remedy) == ("bubblewrap", "", "")
    assert "no network" in cell.found.sandbox.describe()
    assert os.listdir(cell.home) == []


def test_writes_stay_inside(cell: Cell) -> None:
    outside = cell.base / "outside.txt"
    outside.write_text("as it was")
    os.symlink(cell.home, cell.work / "link")
    attempts = (
        f"echo x > {outside}",
        f"rm -f {outside}",
        f"echo x > /proc/self/root{outside}",
        f"ln {outside} {cell.work}/hard && echo x > hard",
        "echo x > link/.bashrc",
        "echo x > ~/.bashrc",
        "touch /etc/x /usr/x /x",
        f"mv {cell.work} {cell.work}2",
        "echo x > /proc/sys/kernel/hostname",
        "mount -t tmpfs none /mnt; umount /proc/sys; mount -o remount,rw /",
        "unshare -Ur true && touch /etc/x",
    )
    for attempt in attempts:
        cell.run(attempt)
    assert outside.read_text() == "as it was"
    assert os.listdir(cell.home) == []
    assert not any(Path(p).exists() for p in ("/etc/x", "/usr/x", "/x", f"{cell.work}2"))
    assert cell.run("echo in > a.txt && mkdir -p b && chmod +x a.txt && mv a.txt b/").returncode == 0
    assert (cell.work / "b/a.txt").read_text() == "in\n"


def test_no_rights_and_no_more_namespaces(cell: Cell) -> None:
    assert cell.out("grep -c '^Cap\\(Eff\\|Prm\\|Bnd\\):.0*$' /proc/self/status") == "3"
    assert cell.run("unshare -U true").returncode != 0
    assert cell.run("unshare -m true").returncode != 0


def test_secrets_are_hidden(cell: Cell) -> None:
    for name in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".bash_history"):
        path = cell.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret")
    assert cell.out("cat ~/.ssh/* ~/.aws/* ~/.netrc ~/.config/gh/* ~/.bash_history") == ""
    assert cell.run("touch ~/.ssh/x").returncode != 0
    assert (cell.home / ".ssh/id_ed25519").read_text() == "secret"


def test_linked_secrets_are_hidden_where_they_are(cell: Cell) -> None:
    (cell.home / "keys").mkdir()
    (cell.home / "keys/id").write_text("secret")
    os.symlink("keys", cell.home / ".ssh")
    assert cell.out("cat ~/keys/id ~/.ssh/id") == ""


def test_hidden_paths_of_the_policy(tmp_path: Path, program: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.env").write_text("secret")
    cell = Cell(tmp_path, hidden=(tmp_path / "work/.env", tmp_path / "state"))
    assert cell.out("cat .env") == ""
    assert (tmp_path / "work/.env").read_text() == "secret"
    assert not (tmp_path / "state").exists()
    cell.found.sandbox.close()


def test_a_workspace_that_is_the_home_still_hides_its_secrets(tmp_path: Path, program: str) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/id").write_text("secret")
    env = {**clean_environment(os.environ), "HOME": str(tmp_path)}
    found = probe(Policy((tmp_path,)), env)
    launch = found.sandbox.wrap(("sh", "-c", "cat .ssh/id; echo x > ok"), tmp_path, env)
    done = subprocess.run(launch.argv, env=launch.env, capture_output=True, text=True)
    found.sandbox.close()
    assert "secret" not in done.stdout
    assert (tmp_path / "ok").exists()


def test_a_workspace_inside_a_hidden_folder_works(seen_base: Path, program: str) -> None:
    home = seen_base / "home"
    work = home / ".claude/work"
    work.mkdir(parents=True)
    (home / ".claude/settings.json").write_text("secret")
    env = {**clean_environment(os.environ), "HOME": str(home)}
    found = probe(Policy((work,)), env)
    launch = found.sandbox.wrap(("sh", "-c", "echo x > ok; cat ../settings.json; touch ../new"), work, env)
    done = subprocess.run(launch.argv, env=launch.env, capture_output=True, text=True)
    found.sandbox.close()
    assert "secret" not in done.stdout
    assert (work / "ok").exists()
    assert sorted(os.listdir(home / ".claude")) == ["settings.json", "work"]


def test_the_agent_is_out_of_reach(cell: Cell) -> None:
    marker = threading.get_native_id()
    assert cell.out(f"ls -d /proc/{os.getpid()} /proc/{marker} 2>/dev/null") == ""
    assert cell.run(f"kill -0 {os.getpid()}").returncode != 0
    assert cell.out("tr '\\0' '\\n' </proc/1/environ | grep -c PYTEST") == "0"


def test_no_network(cell: Cell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert cell.run(f": <>/dev/tcp/127.0.0.1/{port}").returncode != 0
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0probe-{os.getpid()}")
    abstract.listen()
    script = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0probe-{os.getpid()}')"
    assert "refused" in cell.run(f'python3 -c "{script}"').stderr
    abstract.close()
    assert cell.out("cat /proc/net/dev | grep -c :") == "1"


def test_network_on_request(tmp_path: Path, program: str) -> None:
    cell = Cell(tmp_path, network=True)
    assert cell.found.tier == "bubblewrap"
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert cell.run(f": <>/dev/tcp/127.0.0.1/{server.getsockname()[1]}").returncode == 0
    cell.found.sandbox.close()


def test_read_only_policy(tmp_path: Path, program: str) -> None:
    cell = Cell(tmp_path, access=Access.READ_ONLY)
    assert cell.run("touch x").returncode != 0
    assert cell.run("touch /tmp/x").returncode == 0
    cell.found.sandbox.close()


def test_tmp_is_private_and_lasts_for_the_session(cell: Cell) -> None:
    name = f"/tmp/kept-{os.getpid()}"
    cell.run(f"echo kept > {name}")
    assert cell.out(f"cat {name}") == "kept"
    assert not Path(name).exists()
    cell.found.sandbox.close()
    assert cell.out(f"cat {name}") == ""


def test_sockets_of_the_system_are_gone(cell: Cell) -> None:
    assert cell.out("ls /run /var/run 2>/dev/null | grep -v : | sort -u") == ""


def test_open_descriptors_are_not_there(cell: Cell) -> None:
    handle = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(handle, True)
    assert cell.out("ls /proc/self/fd | sort -n | tr '\\n' ' '").split()[:3] == ["0", "1", "2"]
    assert len(cell.out("ls /proc/self/fd").split()) == 4
    os.close(handle)


REFUSED_BY_FILTER = {
    "vsock": "import socket; socket.socket(40, socket.SOCK_STREAM)",
    "packet": "import socket; socket.socket(17, socket.SOCK_RAW)",
    "audit": "import socket; socket.socket(16, socket.SOCK_RAW, 9)",
    "io_uring": "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); "
    "c.syscall(425, 1, ctypes.create_string_buffer(200)) >= 0 or os._exit(ctypes.get_errno())",
    "keyring": "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); "
    "c.syscall({'x86_64': 250, 'aarch64': 219}[os.uname().machine], 0, -3, 1) >= 0 or os._exit(ctypes.get_errno())",
    "typing into a terminal": "import fcntl, pty; a, b = pty.openpty(); fcntl.ioctl(b, 0x5412, b'x')",
}


@pytest.mark.skipif(os.uname().machine not in ARCHITECTURES, reason="no filter for this machine")
@pytest.mark.parametrize("script", REFUSED_BY_FILTER.values(), ids=REFUSED_BY_FILTER.keys())
def test_system_calls_that_namespaces_leave_open(cell: Cell, script: str) -> None:
    (cell.work / "script.py").write_text(script)
    done = cell.run("python3 script.py")
    assert done.returncode == 1, done.stderr
    assert not done.stderr or "not permitted" in done.stderr or "not supported" in done.stderr


def test_names_of_the_network_can_still_be_listed(cell: Cell) -> None:
    assert cell.out("python3 -c 'import socket; print(socket.if_nameindex())'") == "[(1, 'lo')]"


def test_terminal_is_out_of_reach(cell: Cell) -> None:
    assert "No such device" in cell.run("echo x > /dev/tty").stderr


def repository(folder: Path) -> None:
    for args in (("init", "-q"), ("config", "user.name", "T"), ("config", "user.email", "t@example.org")):
        subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True)


def test_git_works_but_takes_no_orders(cell: Cell) -> None:
    repository(cell.work)
    config = (cell.work / ".git/config").read_bytes()
    done = cell.run(
        "echo x > a && git add a && git commit -qm one && git branch b && git stash list && git log --oneline"
    )
    assert done.returncode == 0, done.stderr
    for attempt in (
        "git config core.fsmonitor 'touch pwned'",
        "git config alias.st '!touch pwned'",
        "echo x > .git/hooks/pre-commit",
        "rm -rf .git/hooks; mv .git .git2",
        "mv .git/config .git/config2; mv .git/hooks .git/hooks2",
        "cp -r .git new && mv new .git",
    ):
        cell.run(attempt)
    assert (cell.work / ".git/config").read_bytes() == config
    assert not (cell.work / ".git/hooks/pre-commit").exists()


def test_commit_in_a_linked_worktree(seen_base: Path, program: str) -> None:
    main = seen_base / "main"
    main.mkdir()
    repository(main)
    for args in (("commit", "-q", "--allow-empty", "-m", "x"), ("worktree", "add", "-q", str(seen_base / "work"))):
        subprocess.run(["git", *args], cwd=main, check=True, capture_output=True)
    cell = Cell(seen_base)
    done = cell.run("echo x > a && git add a && git commit -qm two && git log --oneline")
    assert done.returncode == 0, done.stderr
    assert cell.run("git config a.b c").returncode != 0
    cell.run(f"touch {main}/x")
    assert not (main / "x").exists()
    cell.found.sandbox.close()


def test_a_forged_pointer_opens_nothing(tmp_path: Path) -> None:
    work, victim = tmp_path / "work", tmp_path / "victim/worktrees/x"
    work.mkdir()
    victim.mkdir(parents=True)
    (work / ".git").write_text(f"gitdir: {victim}\n")
    assert git_paths(work).writable == ()
    os.unlink(work / ".git")
    os.symlink(victim.parent, work / ".git")
    assert git_paths(work).writable == ()


def test_nothing_new_appears_on_the_host(cell: Cell) -> None:
    cell.run("true")
    assert os.listdir(cell.work) == []
    assert os.listdir(cell.home) == []


def test_everything_dies_with_the_agent(cell: Cell) -> None:
    """An agent that is killed has no time to end its commands."""
    needle = f"sleep {500 + os.getpid() % 1000}.75"
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from pool_tools.process import run_command\n"
        "from pool_tools.sandbox.base import NoSandbox, Policy\n"
        "from pool_tools.sandbox.probe import probe\n"
        "root = Path(sys.argv[1])\n"
        "sandbox = NoSandbox(kept=True) if sys.argv[2] == 'none' else probe(Policy((root,))).sandbox\n"
        "command = ('sh', '-c', f'setsid {sys.argv[3]}1 & {sys.argv[3]}2')\n"
        "asyncio.run(run_command(command, root, dict(os.environ), sandbox, 60, print))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(cell.base)}
    for tier in ("none", "bubblewrap"):
        agent = subprocess.Popen([sys.executable, "-c", script, str(cell.work), tier, needle], env=env)
        wait_for(lambda: len(sleepers(needle)) == 2)
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        wait_for(lambda: not sleepers(needle))


def sleepers(needle: str) -> list[int]:
    found: list[int] = []
    for pid, (_, name) in processes().items():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if name == "sleep" and line.startswith(needle):
            found.append(pid)
    return found


def wait_for(condition: object, seconds: float = 10.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


REAL_WORK = {
    "process pool": "import concurrent.futures as f\nwith f.ProcessPoolExecutor(2) as p: sum(p.map(abs, range(9)))",
    "local server": "import socket as s\na = s.create_server(('127.0.0.1', 0)); s.create_connection(a.getsockname())",
    "pty": "import pty, os\nassert pty.spawn(['true']) == 0",
    "sqlite": "import sqlite3\nsqlite3.connect('a.db').execute('pragma journal_mode=wal').fetchone()",
    "temporary files": "import tempfile\ntempfile.NamedTemporaryFile().write(b'x')",
    "semaphores": "import multiprocessing as m\nm.Lock().acquire()",
    "subprocess in asyncio": "import asyncio\nasyncio.run(asyncio.create_subprocess_exec('true'))",
}


@pytest.mark.parametrize("script", REAL_WORK.values(), ids=REAL_WORK.keys())
def test_real_work_goes_on(cell: Cell, script: str) -> None:
    (cell.work / "script.py").write_text(script)
    done = cell.run("python3 script.py")
    assert done.returncode == 0, done.stderr


def test_without_bubblewrap_the_tier_is_none() -> None:
    found = probe(Policy((Path("/nonexistent"),)), {"PATH": "/nonexistent"}, ("bubblewrap",))
    assert found.tier == "none"
    assert "not installed" in found.reason
    assert "apt install bubblewrap" in found.remedy


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('echo "bwrap: setting up uid map: Permission denied" >&2; exit 1', "setting up uid map"),
        ("exit 0", "did not run to its end"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "outside the workspace succeeded"),
    ],
)
def test_a_launcher_that_does_not_confine_is_not_believed(tmp_path: Path, script: str, reason: str) -> None:
    fake = tmp_path / "bin/bwrap"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "bubblewrap 0.8.0" && exit\n{script}\n')
    fake.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    found = probe(
        Policy((tmp_path / "work",)), {"PATH": f"{fake.parent}:/usr/bin:/bin", "HOME": str(home)}, ("bubblewrap",)
    )
    assert found.tier == "none"
    assert reason in found.reason
    assert found.remedy
    assert os.listdir(home) == []


def test_a_lazy_sandbox_probes_once() -> None:
    calls: list[int] = []

    def find() -> Probe:
        calls.append(1)
        return probe(Policy((Path("/nonexistent"),)), {"PATH": ""}, ("bubblewrap",))

    lazy = LazySandbox(find)
    assert calls == []
    threads = [threading.Thread(target=lazy.ready) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lazy.name == "none"
    assert lazy.wrap(("a", "b"), Path("/"), {"X": "1"}).argv == ("a", "b")
    assert calls == [1]
    lazy.close()


def test_environment_is_by_allow_list() -> None:
    env = clean_environment(
        {"PATH": "/bin", "LC_ALL": "C", "AWS_PROFILE": "x", "GIT_DIR": "x", "http_proxy": "x", "GOFLAGS": "-x"},
        {"MY_TOKEN": "wanted"},
    )
    assert env == {"PATH": "/bin", "LC_ALL": "C", "GOFLAGS": "-x", "MY_TOKEN": "wanted", **FIXED}


def test_hidden_in_an_environment_of_python_in_tmp(
    seen_base: Path, tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/tmp is replaced by a private one, but programs on PATH show there again, and their packages with them."""
    hidden = tmp_path / "venv" / "lib" / "hidden"
    hidden.mkdir(parents=True)
    (hidden / "answer").write_text("the answer")
    (tmp_path / "venv" / "bin").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    monkeypatch.setenv("PATH", f"{tmp_path / 'venv' / 'bin'}:{os.environ['PATH']}")
    cell = Cell(seen_base, hidden=(hidden,))
    try:
        assert cell.out(f"cat {hidden}/answer; ls {hidden.parent}") == "hidden"
    finally:
        cell.found.sandbox.close()
