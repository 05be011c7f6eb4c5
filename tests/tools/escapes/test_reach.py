"""A31 to A39 and A41 to A44: secrets, the agent itself, sockets, and rights. As root and user, in both tiers."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .agents import ENV_SECRET, SECRET, SECRET_FILES, Agent


def test_a31_keys_and_passwords(agent: Agent) -> None:
    files = " ".join(f"~/{name}" for name in SECRET_FILES)
    tricks = "cp ~/.netrc copy; ln -s ~/.netrc link; cat link copy; tar c ~"
    reply = agent.shell(f"cat {files} {agent.home}/.ssh/*; {tricks}")
    assert SECRET not in reply.text
    assert SECRET not in agent.call("read", path="link").text
    assert not agent.shell("echo x > ~/.ssh/authorized_keys").ok
    assert not agent.shell("mv ~/.ssh ~/ssh && cat ~/ssh/*").ok
    assert agent.out("cat ~/.gitconfig | head -1") == "[user]"


def test_a32_environment(agent: Agent) -> None:
    reply = agent.shell("env; cat /proc/self/environ /proc/$$/environ | tr '\\0' '\\n'; cat /proc/1/environ")
    assert ENV_SECRET not in reply.text
    assert "SSH_AUTH_SOCK" not in reply.text


def test_a33_the_agent_from_outside(agent: Agent) -> None:
    pid = agent.state["pid"]
    for name in ("environ", "mem", "fd/0", "root/etc/hostname", "cwd/etc/hostname", "map_files", "maps"):
        reply = agent.shell(f"head -c 100 /proc/{pid}/{name} 2>/dev/null | grep -c .")
        assert ENV_SECRET not in reply.text
        assert reply.output.split()[:1] == ["0"], name
    if agent.tier == "bubblewrap":
        assert not agent.shell(f"ls -d /proc/{pid}").ok


def test_a34_tracing_and_signals(agent: Agent) -> None:
    pid = agent.state["pid"]
    trace = f"import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) != -1)"
    assert agent.python(trace).ok
    for signal in ("0", "STOP", "TERM", "KILL"):
        assert not agent.shell(f"kill -{signal} {pid}").ok
    limits = f"import resource; resource.prlimit({pid}, resource.RLIMIT_NOFILE, (5, 5))"
    assert not agent.python(limits).ok
    assert not agent.python(f"import os; os.sched_setaffinity({pid}, [0])").ok
    assert not agent.python(f"import os; os.setpriority(os.PRIO_PROCESS, {pid}, 19)").ok
    assert agent.out("echo alive") == "alive"


def test_a35_typing_into_the_terminal(agent: Agent) -> None:
    assert not agent.shell("echo x > /dev/tty").ok
    script = "import fcntl, os\nfor fd in (0, 1, 2):\n    fcntl.ioctl(fd, 0x5412, b'x')"
    assert not agent.python(script).ok
    assert agent.out("ps -o tty= -p $$") in ("?", "")


@contextmanager
def served(path: str, family: int = socket.AF_UNIX) -> Generator[list[bytes]]:
    """A server that notes who connects."""
    seen: list[bytes] = []
    with socket.socket(family) as server:
        server.bind(path)
        server.listen()
        server.settimeout(0.2)
        end = threading.Event()

        def accept() -> None:
            while not end.is_set():
                try:
                    server.accept()[0].close()
                except TimeoutError:
                    continue
                seen.append(b"x")

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield seen
        finally:
            end.set()
            thread.join()


def connect(path: str) -> str:
    return f"import socket\nsocket.socket(socket.AF_UNIX).connect({path!r})"


def test_a36_sockets_of_the_system(agent: Agent) -> None:
    folders = [folder for folder in ("/run", "/tmp", "/var/tmp") if os.access(folder, os.W_OK)]
    for parent in folders:
        folder = tempfile.mkdtemp(prefix="escape-", dir=parent)
        try:
            os.chmod(folder, 0o755)
            path = f"{folder}/docker.sock"
            with served(path) as seen:
                os.chmod(path, 0o777)
                assert not agent.python(connect(path)).ok, path
            assert seen == []
        finally:
            shutil.rmtree(folder)


def test_a36_socket_in_the_workspace(agent: Agent) -> None:
    """Bubblewrap cannot stop this, and says nothing else; Landlock refuses local sockets altogether."""
    path = str(agent.work / "s")
    with served(path) as seen:
        os.chmod(path, 0o777)
        assert agent.python(connect(path)).ok is (agent.tier == "bubblewrap")
    assert bool(seen) is (agent.tier == "bubblewrap")


def test_a37_abstract_socket(agent: Agent) -> None:
    name = f"\0escape-{os.getpid()}"
    with served(name) as seen:
        assert not agent.python(connect(name)).ok
    assert seen == []


NETWORK = {
    "tcp": "import socket\nsocket.create_connection(('192.0.2.1', 80), 3)",
    "tcp6": "import socket\nsocket.create_connection(('2001:db8::1', 80), 3)",
    "dns": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x' * 30, ('192.0.2.1', 53))",
    "icmp": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).sendto(b'x' * 8, ('192.0.2.1', 0))",
    "raw": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "packet": "import socket\nsocket.socket(17, socket.SOCK_RAW)",
    "vsock": "import socket\nsocket.socket(40, socket.SOCK_STREAM)",
    "name": "import socket\nsocket.getaddrinfo('example.org', 80)",
    "mptcp": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(('192.0.2.1', 80))",
    "fast open": "import socket\nsocket.socket().sendto(b'x', 0x20000000, ('192.0.2.1', 80))",
}


@pytest.mark.parametrize("script", NETWORK.values(), ids=NETWORK.keys())
def test_a38_network_is_off(agent: Agent, script: str) -> None:
    reply = agent.python(script, timeout=10)
    assert not reply.ok
    assert not reply.data["timed_out"]


def test_a39_model_server_on_this_machine(agent: Agent) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        assert not agent.python(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 3)").ok
        assert not agent.shell(f": <>/dev/tcp/127.0.0.1/{port}").ok
        with pytest.raises(TimeoutError):
            server.accept()


def test_a41_descriptors_that_the_agent_left_open(agent: Agent) -> None:
    script = "import os\nprint(sorted(os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')[:-1]))"
    opened = agent.python(script).output
    assert opened.count("pipe:") == 2
    assert "/dev/null" in opened
    assert opened.count(",") == 2, opened


def test_a42_loader_and_interpreters(agent: Agent) -> None:
    names = "LD_|BASH_ENV|PYTHONSTARTUP|NODE_OPTIONS|PERL5OPT|PYTHONPATH"
    assert agent.out(f"env | grep -E '^({names})'") == ""


def test_a43_programs_that_give_rights(agent: Agent) -> None:
    assert agent.out("grep NoNewPrivs /proc/self/status").split()[1] == "1"
    if os.getuid() == 0:
        program = Path(shutil.copy(shutil.which("id") or "/usr/bin/id", agent.work / "id"))
        os.chown(program, 0, 0)
        program.chmod(0o4755)
        expected = "0" if agent.is_root else str(agent.uid)
        assert agent.out("cp id other; ./id -u") == expected
    for command in ("sudo -n id", "su -c id </dev/null"):
        reply = agent.shell(command, timeout=10)
        assert "uid=0" not in reply.text or agent.is_root
        assert not reply.data["timed_out"]
    assert agent.out("grep -c '^Cap\\(Eff\\|Prm\\|Bnd\\):.0*$' /proc/self/status") in ("3", "2")
    assert agent.out("grep '^CapEff:.0*$' /proc/self/status | wc -l") == "1"


def test_a44_namespaces_and_mounts(agent: Agent) -> None:
    for command in (
        "unshare -Ur true",
        "unshare -m true",
        "unshare -n true",
        "mount -t tmpfs none /mnt",
        "mount -o remount,rw /",
        "umount /proc/sys",
        "umount -l ~/.ssh",
        "chroot / true",
        "cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname",
        "echo h > /proc/sysrq-trigger",
        "python3 -c 'import os; os.setuid(12345); os.setgid(1)' && false",
    ):
        assert not agent.shell(command).ok, command
    clone = "import ctypes, os\nf = 0x10000000 | 17\nc = ctypes.CDLL(None)\n"
    call = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine)
    if call:
        assert agent.python(f"{clone}pid = c.syscall({call}, f, 0, 0, 0, 0)\nos._exit(pid >= 0)").ok
