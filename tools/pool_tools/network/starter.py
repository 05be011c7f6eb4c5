"""What runs inside the sandbox before a command: it opens the ports that lead out and hands them to the agent.

A listening socket belongs to the network namespace that it was made in, wherever its descriptor is held. So the agent
accepts the command's connections itself, and nothing of Pool's stays behind in the sandbox: no helper to relay, to be
killed or to be mistaken for a process of the command's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

PROXY_PORT = 28_128
"""The proxy's port on the sandbox's loopback address: above what servers use, below what clients are given."""

SOCKET_NAME = "start"
"""The agent's socket, in the folder that the sandbox shows."""

UNTIL_END, FOR_GOOD = b"until its end", b"for good"
"""How long the agent is to serve the ports: until the process that hands them over ends, or until the session does."""

HANDED = b"ok"
"""The agent's answer when it has taken the ports; anything else is a message of its own."""

HANDING_SECONDS = 10
FAILED_STATUS = 125
"""Exit status of a command that was not started, as `env` and `docker run` have it."""

# Descriptors of sockets are closed when the command starts. `_socket` alone, as importing `socket` costs 10 ms.
_SOURCE = f"""
import os, sys, _socket as s
try:
    ports = []
    for number in sys.argv[2].split(","):
        for family, address in (s.AF_INET, "127.0.0.1"), (s.AF_INET6, "::1"):
            try:
                port = s.socket(family, s.SOCK_STREAM)
                port.setsockopt(s.SOL_SOCKET, s.SO_REUSEADDR, 1)
                port.bind((address, int(number)))
                port.listen(128)
                ports.append(port)
            except OSError:
                if family == s.AF_INET:
                    raise
    agent = s.socket(s.AF_UNIX, s.SOCK_STREAM)
    agent.settimeout({HANDING_SECONDS})
    agent.connect(sys.argv[1])
    handles = b"".join(port.fileno().to_bytes(4, sys.byteorder) for port in ports)
    how_long = {UNTIL_END!r} if sys.argv[3:] else {FOR_GOOD!r}
    agent.sendmsg([how_long], [(s.SOL_SOCKET, s.SCM_RIGHTS, handles)])
    answer = agent.recv(1000)
except OSError as error:
    answer = str(error).encode()
if answer != {HANDED!r}:
    sys.stderr.write("The sandbox's network could not be set up: %s\\n" % answer.decode(errors="replace"))
    os._exit({FAILED_STATUS})
if sys.argv[3:]:
    os.execvp(sys.argv[3], sys.argv[3:])
"""


def start_command(
    socket_path: str, loopback_ports: Sequence[int], argv: Sequence[str] = (), *, proxy: bool = True
) -> tuple[str, ...]:
    """The command that hands the ports over, then becomes argv. socket_path is the agent's, as the sandbox sees it.

    Without argv it is for a network namespace that commands share: the ports are served as long as the proxy is open.
    proxy is False where the proxy's own port was handed over before.
    """
    ports = ",".join(map(str, (*((PROXY_PORT,) if proxy else ()), *loopback_ports)))
    return (os.path.realpath(sys.executable), "-I", "-S", "-c", _SOURCE, socket_path, ports, *argv)


def interpreter_folders() -> tuple[str, ...]:
    """Folders that the interpreter of `start_command` needs."""
    return tuple(dict.fromkeys((os.path.dirname(os.path.realpath(sys.executable)), sys.base_prefix)))


def proxy_variables() -> dict[str, str]:
    """What tells programs to use the proxy. Node's own `fetch` looks at it only if told so (24 and later)."""
    url = f"http://127.0.0.1:{PROXY_PORT}"
    here = "localhost,127.0.0.1,::1"
    names = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "ALL_PROXY": url, "NO_PROXY": here}
    return {**names, **{name.lower(): value for name, value in names.items()}, "NODE_USE_ENV_PROXY": "1"}
