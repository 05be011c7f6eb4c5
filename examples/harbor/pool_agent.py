"""Pool as an agent of Harbor, which runs benchmarks such as Terminal-Bench, each task in a container of its own.

    pip wheel --no-deps -w dist /path/to/pool
    harbor run -p TASKS -a pool_agent:Pool --ak wheel=dist/laguna_pool-0.1.0-py3-none-any.whl \
        --ae POOL_BASE_URL=http://gpu1:8000/v1 --ae POOL_MODEL=laguna-s-2.1

Run it in this folder (or put it on PYTHONPATH), with Python 3.12 or newer and the package `harbor` (tried: 0.26.0). The
task's image needs Python 3.11 or newer with `venv`; with `--ak skip_install=true` it has `pool` already. A wheel
installs its dependencies from the package index that the image knows.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, override

from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

HOME = "/installed-agent/pool"
LEFT = "pool"
"""The folder, in the agent's logs, of what `--artifacts` leaves."""

JUDGED = "0|4|5|6|7|8|9"
"""Exit codes of `pool run` after which the work is judged as it stands. The others (Pool or the server failed, a wrong
flag, a signal) are errors of the trial, which Harbor may try again."""


class Pool(BaseInstalledAgent):
    """`pool run` in the container, which is its sandbox. The trajectory is left in ATIF."""

    capabilities = AgentCapabilities(atif=True)

    def __init__(self, *args: Any, wheel: str = "", flags: str = "", **kwargs: Any) -> None:
        """wheel is Pool's, on this machine; flags are further ones for `pool run`, as in a shell."""
        super().__init__(*args, **kwargs)
        self._wheel = Path(wheel).expanduser() if wheel else None
        self._flags = shlex.split(flags)

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
        if self._wheel is None:
            raise ValueError("no wheel of Pool: give --ak wheel=FILE, or --ak skip_install=true if the image has pool")
        there = f"/installed-agent/{self._wheel.name}"
        await environment.upload_file(self._wheel, there)
        make = f"python3 -m venv {HOME} && {HOME}/bin/pip install -q {shlex.quote(there)}"
        await self.exec_as_root(environment, command=make)

    @override
    @with_prompt_template
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        left = self.environment_logs_dir / LEFT
        command = [self._program(), "run", "-o", "json", "--sandbox", "external", "--mode", "allow-all"]
        command += ["--artifacts", str(left), *self._flags]
        if self.model_name:
            command += ["--model", self.model_name.rpartition("/")[2]]
        # On stdin, so that an instruction that begins with a dash is none of the flags.
        line = f"printf %s {shlex.quote(instruction)} | {shlex.join([*command, '-'])} >/dev/null; code=$?"
        await self.exec_as_agent(environment, command=f"{line}; case $code in {JUDGED}) ;; *) exit $code;; esac")

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        left = self.logs_dir / LEFT
        try:
            result = json.loads((left / "result.json").read_text())
            (self.logs_dir / "trajectory.json").write_text((left / "trajectory.json").read_text())
        except OSError as error:
            self.logger.warning(f"Pool left no results: {error.strerror} ({error.filename})")
            return
        usage = result["usage"]
        context.n_input_tokens, context.n_output_tokens = usage["prompt"], usage["completion"]
        context.n_cache_tokens = usage["cached"]
        context.metadata = {key: result[key] for key in ("reason", "exit_code", "turns", "seconds", "session")}

    def _program(self) -> str:
        """By its path, and not by PATH: the `python` of the model's commands is the task's, not the one of Pool."""
        return "pool" if self._wheel is None else f"{HOME}/bin/pool"
