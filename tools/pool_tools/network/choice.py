"""What a user asks for with `--net`, worked out for a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from pool_tools.frozen import frozen
from pool_tools.network.presets import PRESETS, PresetError, certificates, presets_for, provide
from pool_tools.network.rules import AllowList, RuleError, allow_list

OFF, ON = "off", "on"


@frozen
class Network:
    """on, or only to what allow lists, or off. env and caches are for the commands: see `Policy.caches`."""

    on: bool = False
    allow: AllowList | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    caches: tuple[Path, ...] = ()


def network_for(text: str, environ: Mapping[str, str], roots: Sequence[Path], caches: Path) -> Network:
    """Work out `off`, `on`, or a list of hosts, ports and presets with commas between.

    Asks tools where the registries of a preset are; call it in a thread. Raises `RuleError` and `PresetError`. caches:
    where those of presets are kept.
    """
    parts = [part for part in (piece.strip() for piece in text.split(",")) if part]
    if parts == [ON]:
        return Network(on=True, env=certificates(environ))
    if parts in ([], [OFF]):
        return Network()
    if ON in parts or OFF in parts:
        raise RuleError(f"{text!r} mixes {ON} or {OFF} with hosts; give one or the other")
    names = [part for part in dict.fromkeys(parts) if part in PRESETS]
    allow = allow_list(part for part in parts if part not in PRESETS)
    try:
        provision = provide(names, environ, roots, caches)
    except OSError as error:
        raise PresetError(f"the caches in {caches} cannot be made: {error.strerror or error}") from None
    return Network(False, allow.merged(provision.allow), provision.env, provision.caches)


def advice(workspace: Path) -> str:
    """What would have let a command through that missed the network, for the words of a denial."""
    names = presets_for(workspace)
    packages = f"--net {','.join(names)} allows installing packages, " if names else ""
    return f"{packages}--net HOST allows one host"
