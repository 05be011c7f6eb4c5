from __future__ import annotations

import pytest

from pool_tools.denials import explain
from tests.tools.conftest import Desk

# Messages as the programs print them.
NETWORK = [
    ("curl: (6) Could not resolve host: example.org", "example.org"),
    ("fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com", "github.com"),
    ("ssh: Could not resolve hostname github.com: Temporary failure in name resolution", "github.com"),
    ("wget: unable to resolve host address ‘pypi.org’", "pypi.org"),
    ("npm error reason: getaddrinfo EAI_AGAIN registry.npmjs.org", "registry.npmjs.org"),
    ("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", ""),
    ('go: x: Get "https://proxy.golang.org/x": dial tcp: lookup proxy.golang.org: no such host', "proxy.golang.org"),
    ("HTTPSConnectionPool(host='pypi.org', port=443): Failed to establish a new connection", "pypi.org"),
    ("curl: (7) Failed to connect to 192.0.2.1 port 80: Network is unreachable", ""),
]


@pytest.mark.parametrize(("output", "host"), NETWORK)
def test_a_failed_look_up_names_rule_host_and_what_would_lift_it(output: str, host: str) -> None:
    (said,) = explain(output)
    assert "network is off" in said
    assert "ask the user to allow the host" in said
    assert host in said


@pytest.mark.parametrize(
    ("output", "path"),
    [
        ("touch: cannot touch '/etc/x': Read-only file system", "/etc/x"),
        ("bash: line 1: /usr/x: Read-only file system", "/usr/x"),
        ("OSError: [Errno 30] Read-only file system: '/opt/x'", "/opt/x"),
        ("Error: EROFS: read-only file system, open '/srv/x'", "/srv/x"),
        ("mkdir: cannot create directory ‘/var/x’: Read-only file system", "/var/x"),
    ],
)
def test_a_refused_write_names_the_path(output: str, path: str) -> None:
    (said,) = explain(output)
    assert "writing outside the workspace is off" in said
    assert path in said


def test_the_machines_loopback() -> None:
    (said,) = explain("curl: (7) Failed to connect to localhost port 5432 after 0 ms: Couldn't connect to server")
    assert "localhost inside the sandbox" in said


@pytest.mark.parametrize(
    "output",
    ["", "AssertionError: 1 != 2", "bash: x: command not found", "Permission denied", "404 Not Found: example.org"],
)
def test_other_failures_are_the_commands_own(output: str) -> None:
    assert explain(output) == []


def test_names_are_data_and_few() -> None:
    output = "\n".join(f"curl: (6) Could not resolve host: host{n}.example" for n in range(50))
    (said,) = explain(output + "\ntouch: cannot touch '/e\x1b[31m\u202e': No such file")
    assert said.count(".example") == 3
    (said,) = explain("touch: cannot touch '/e\x1b[31m\u202ex': Read-only file system")
    assert "\x1b" not in said
    assert "\u202e" not in said


async def test_real_commands_in_the_real_sandbox(confined: Desk) -> None:
    wrote = await confined.call("shell", command="touch /etc/pool-test")
    assert "writing outside the workspace is off" in wrote.text
    assert "/etc/pool-test" in wrote.text
    code = "import socket; socket.getaddrinfo('example.org', 443)"
    looked = await confined.call("shell", command=f'python3 -c "{code}"')
    assert "network is off" in looked.text
    fine = await confined.call("shell", command="echo Read-only file system")
    assert "Stopped by the sandbox" not in fine.text
