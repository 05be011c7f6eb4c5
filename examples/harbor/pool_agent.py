"""Pool as an agent of Harbor, which runs benchmarks such as Terminal-Bench, each task in a container of its own.

    pip wheel --no-deps -w dist /path/to/pool
    harbor run -d terminal-bench/terminal-bench-2 -a pool_agent:Pool -m laguna-s-2.1 \
        --ak wheel=dist/laguna_pool-0.1.0-py3-none-any.whl --base-url http://gpu1:8000/v1

Run it in this folder (or put it on PYTHONPATH), with Python 3.12 or newer and the package `harbor` (tried: 0.26.0). The
wheel is installed with the image's own Python where that is 3.11 or newer and has `venv`; else `uv` brings one, so that
images without Python (Rust, Go, Java) work too. With `--ak skip_install=true` the image has `pool` already. `check.py`
beside this file tries it all without Docker; docs/scale.md says more.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, override

from harbor.agents.agent_auth_resolution import ModelConnectionSpec, ProviderAccess
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.agents.options import InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.model_api_format import ModelApiFormat
from pydantic import Field

HOME = "/installed-agent/pool"
CONFIG = "/installed-agent/config"
"""Pool's configuration for the trial, given as XDG_CONFIG_HOME to Pool alone: the task's own commands do not see it."""

LEFT = "pool"
"""The folder, in the agent's logs, of what `--artifacts` leaves."""

TRAJECTORY = "trajectory.json"
ANSWER = "answer.txt"
"""In the agent's logs, in the container too, before the verifier runs: the run in ATIF, and the last answer alone."""

JUDGED = "0|4|5|6|7|8|9"
"""Exit codes of `pool run` after which the work is judged as it stands. The others (Pool or the server failed, a wrong
flag, a signal) are errors of the trial, which Harbor may try again."""

OLD_PYTHON = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
UV_PYTHON = "3.12"
UV_SOURCE = "https://astral.sh/uv/install.sh"


class PoolOptions(InstalledAgentOptions):
    """What `--ak NAME=VALUE` can say."""

    wheel: str = Field(default="", description="Pool's wheel, a file on this machine.")
    flags: str = Field(default="", description="Further flags for `pool run`, as in a shell.")


class Pool(BaseInstalledAgent):
    """`pool run` in the container, which is its sandbox. The trajectory is left in ATIF."""

    capabilities = AgentCapabilities(atif=True, base_url=True, mcp_servers=True)
    options_model = PoolOptions
    options: PoolOptions
    MODEL_CONNECTION = ModelConnectionSpec(
        agent_provider_access=ProviderAccess(
            api_key_candidate_names=["POOL_API_KEY"], base_url_candidate_names=["POOL_BASE_URL"]
        ),
        supported_api_formats=[ModelApiFormat.OPENAI_CHAT_COMPLETIONS],
        default_api_format_by_provider={"default": ModelApiFormat.OPENAI_CHAT_COMPLETIONS},
        api_key_destination_names={"default": "POOL_API_KEY"},
        base_url_destination_names={"default": "POOL_BASE_URL"},
    )

    @staticmethod
    @override
    def name() -> str:
        return "pool"

    @override
    def get_version_command(self) -> str:
        return f"{self._program()} --version"

    @override
    def parse_version(self, stdout: str) -> str:
        return stdout.split()[-1]

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        wheel = Path(self.options.wheel).expanduser()
        if not self.options.wheel:
            raise ValueError("no wheel of Pool: give --ak wheel=FILE, or --ak skip_install=true if the image has pool")
        there = f"/installed-agent/{wheel.name}"
        await environment.upload_file(wheel, there)
        what = shlex.quote(f"{there}[mcp]" if self.mcp_servers else there)
        own = f"python3 -c {shlex.quote(OLD_PYTHON)} 2>/dev/null"
        by_python = f"python3 -m venv {HOME} && {HOME}/bin/pip install -q {what}"
        if (await environment.exec(own, user="root")).return_code == 0:
            await self.exec_as_root(environment, command=by_python)
            return
        await self.ensure_system_dependencies(environment, ("curl", "ca_certificates"))
        get = f"command -v uv >/dev/null || curl -LsSf {UV_SOURCE} | env UV_INSTALL_DIR=/installed-agent/uv sh -s -- -q"
        # A task's image may have told uv to stay off the network; Python has to lie where every user can read it.
        put = "export PATH=/installed-agent/uv:$PATH UV_OFFLINE=0 UV_PYTHON_INSTALL_DIR=/installed-agent/python"
        make = f"uv venv -q --python {UV_PYTHON} {HOME} && uv pip install -q --python {HOME}/bin/python {what}"
        await self.exec_as_root(environment, command=f"{put}; {{ {get}; }} && {make}")

    @override
    async def configure(self, environment: BaseEnvironment) -> None:
        """Write the task's MCP servers into a configuration of the trial's own."""
        await environment.exec(f"mkdir -p {CONFIG}/pool && chmod -R 755 {CONFIG}", user="root")
        if self.mcp_servers:
            await self._upload_config_text(
                environment, content=self._servers(), remote_path=f"{CONFIG}/pool/config.toml", filename="config.toml"
            )
        for server in self.mcp_servers:
            # Pool waits for no server at a session's start: what it lists then is what was seen here.
            look = f"{self._program()} mcp test {shlex.quote(server.name)} --sandbox external"
            done = await environment.exec(f"XDG_CONFIG_HOME={CONFIG} {look}")
            if done.return_code:
                self.logger.warning(f"the MCP server {server.name} did not start: {done.stdout}{done.stderr}")

    @override
    @with_prompt_template
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        logs = self.environment_logs_dir
        left = shlex.quote(str(logs / LEFT))
        command = [self._program(), "run", "-o", "json", "--sandbox", "external", "--mode", "allow-all"]
        command += ["--artifacts", str(logs / LEFT), *shlex.split(self.options.flags)]
        if self.model_name:
            command += ["--model", self._parse_model_name(self.model_name)[1] or self.model_name]
        # On stdin, so that an instruction that begins with a dash is none of the flags.
        ask = (
            f"printf %s {shlex.quote(instruction)} | XDG_CONFIG_HOME={CONFIG} {shlex.join([*command, '-'])} >/dev/null"
        )
        # A run that never began has left nothing.
        leave = f"{{ cp {left}/trajectory.json {logs}/{TRAJECTORY}; cp {left}/answer.md {logs}/{ANSWER}; }} 2>/dev/null"
        judged = f"case $code in {JUDGED}) ;; *) exit $code;; esac"
        line = f"{ask}; code=$?; {leave}; {judged}"
        await self.exec_as_agent(environment, command=line, env=dict(self.model_connection.env))

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        try:
            result = json.loads((self.logs_dir / LEFT / "result.json").read_text())
        except (OSError, ValueError) as error:
            self.logger.warning(f"Pool left no results that can be read: {error}")
            return
        usage = result["usage"]
        context.n_input_tokens, context.n_output_tokens = usage["prompt"], usage["completion"]
        context.n_cache_tokens = usage["cached"]
        context.metadata = {key: result[key] for key in ("reason", "exit_code", "turns", "seconds", "session")}

    def _program(self) -> str:
        """By its path, and not by PATH: the `python` of the model's commands is the task's, not the one of Pool."""
        return f"{HOME}/bin/pool" if self.options.wheel and not self._skip_install else "pool"

    def _servers(self) -> str:
        """The MCP servers as Pool's configuration; a JSON text is a TOML one too. Secrets stay names of variables."""
        lines: list[str] = []
        for server in self.mcp_servers:
            lines.append(f"[mcp_servers.{json.dumps(server.name)}]")
            fields: dict[str, Any] = {"command": server.command, "args": server.args}
            if server.transport != "stdio":
                fields = {"url": server.url, "transport": "sse" if server.transport == "sse" else "http"}
            lines += [f"{key} = {json.dumps(value)}" for key, value in fields.items() if value]
            if server.headers:
                pairs = ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in server.headers.items())
                lines.append(f"headers = {{ {pairs} }}")
        return "\n".join(lines) + "\n"
