"""Files and folders in a home that hold secrets, or the state of other agents: commands do not see them."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterable, Mapping
from pathlib import Path

from pool_tools.home import home

SECRETS = (
    # keys and passwords
    ".ssh", ".gnupg", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".vault-token", ".pki",
    ".netrc", ".pgpass", ".my.cnf", ".git-credentials", ".config/git/credentials", ".Xauthority", ".ICEauthority",
    # clouds and registries
    ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".config/containers", ".oci", ".config/doctl", ".fly",
    ".config/rclone", ".terraform.d", ".terraformrc", ".pulumi", ".config/op", ".config/gh", ".config/glab-cli",
    ".config/hub", ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml",
    ".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".cache/huggingface/token",
    ".huggingface/token", ".config/github-copilot",
    # browsers, mail, wallets
    ".mozilla", ".thunderbird", ".cache/mozilla", ".cache/thunderbird", ".cache/chromium", ".cache/google-chrome",
    ".cache/BraveSoftware", ".cache/microsoft-edge", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/Signal", ".bitcoin", ".ethereum", ".electrum",
    ".config/solana",
    # what was typed
    ".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".node_repl_history",
    ".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", ".lesshst", ".viminfo",
    # other agents
    ".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".kimi", ".vibe", ".cursor", ".continue", ".aider",
    ".config/opencode", ".local/share/opencode", ".config/crush", ".local/share/crush", ".config/poolside",
    ".poolside", ".openhands", ".pi",
)  # fmt: skip
"""Relative to the home. Folders as a whole where they hold little else: each one hidden costs about 1 ms a command."""


_OWN = "pool"
_OWN_PARENTS = {"XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state", "XDG_DATA_HOME": ".local/share"}
"""Where an agent that uses these tools keeps its settings, grants and transcripts, relative to a home or as its own
environment says: commands must neither read nor change them. Its cache may be shared with commands."""


def homes(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The user's home as the environment says it and as the user database does; what stands in where neither does."""
    found = [environ.get("HOME", "")]
    with contextlib.suppress(KeyError):
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    if not any(map(os.path.isabs, found)):
        found.append(str(home()))
    return tuple(dict.fromkeys(Path(h) for h in found if os.path.isabs(h) and os.path.isdir(h)))


def own_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Folders of the agent itself, whether they are there or not."""
    default = [home / parent / _OWN for home in homes(environ) for parent in _OWN_PARENTS.values()]
    named = [Path(source[name]) / _OWN for source in (environ, os.environ) for name in _OWN_PARENTS if source.get(name)]
    return tuple(dict.fromkeys([*default, *(path for path in named if path.is_absolute())]))


def secret_paths(environ: Mapping[str, str], hidden: Iterable[Path], readable: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Real paths of what exists of the secrets in the homes, of the agent's own folders, and of hidden.

    readable: what is no secret, as the user says.
    """
    told = {os.path.realpath(path) for path in readable}
    # As text, since this is asked for every command.
    secrets = (f"{home}/{name}" for home in homes(environ) for name in SECRETS)
    secrets = (path for path in secrets if not told or os.path.realpath(path) not in told)
    named = [*secrets, *map(str, own_folders(environ)), *map(str, hidden)]
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in named if os.path.lexists(path)))
