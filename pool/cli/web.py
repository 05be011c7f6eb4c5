"""The command line of `pool web`."""

from __future__ import annotations

import argparse
import ipaddress
import os
import socket
import sys
from collections.abc import Sequence

EXIT_USAGE = 2
EXIT_FAILED = 1

DEFAULT_PORT = 8190

DESCRIPTION = """\
The interface in a browser. The address that is printed holds a token; whoever has it can do what you can do here.
Only this machine can connect. From another one, use ssh -L 8190:127.0.0.1:8190 and the same address.
"""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool web`."""
    p = argparse.ArgumentParser(
        prog="pool web",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="What follows -- goes to pool, as in: pool web -- --mode plan",
    )
    p.add_argument("--port", type=int, default=DEFAULT_PORT, help="port; 0 takes a free one (%(default)s)")
    p.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    p.add_argument(
        "--public", action="store_true", help="allow an address that others reach; they are kept off by the token alone"
    )
    p.add_argument("rest", nargs="*", metavar="-- FLAGS", help="flags of pool")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool web` until a signal; returns the exit code."""
    try:
        args, unknown = parser().parse_known_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    if unknown:
        flag = unknown[0].partition("=")[0]
        sys.stderr.write(f"pool web has no {flag}; flags of pool go behind --, as in: pool web -- --mode plan\n")
        return EXIT_USAGE
    if why := _refused(args.host, public=args.public):
        sys.stderr.write(f"pool web: {why}\n")
        return EXIT_USAGE
    try:
        from pool.tui.web.server import WebServer
    except ModuleNotFoundError as error:
        sys.stderr.write(f"pool web needs the package {error.name!r}: pip install 'laguna-pool[web]'\n")
        return EXIT_USAGE
    try:
        port = _free_port(args.host, args.port)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        sys.stderr.write(f"pool web: cannot listen on {args.host}, port {args.port}: {why}; choose another --port\n")
        return EXIT_FAILED
    # Each page starts this; it is the same Pool, whatever PATH says.
    command = [sys.executable, "-m", "pool", *args.rest]
    WebServer(command, args.host, port, _tell).serve()
    return 0


def _tell(address: str) -> None:
    sys.stdout.write(f"{address}\nOpen this in a browser on this machine. Ctrl+C ends it.\n")
    sys.stdout.flush()


def _refused(host: str, *, public: bool) -> str:
    """Why this address is not listened on, "" if it is."""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if local or public:
        return ""
    return f"others reach {host!r}, without encryption; add --public if that is what you want, or use ssh -L"


def _free_port(host: str, port: int) -> int:
    """The port, or a free one for 0. Raises OSError where it cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return int(probe.getsockname()[1])
