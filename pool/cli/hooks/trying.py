"""`pool hooks test`: run one hook as a session would, and say what its answer means."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, cast

from pool.agent.configured import settings_for
from pool.agent.confinement import confine
from pool.agent.hooking import SessionHooks
from pool.agent.hub import EventHub
from pool.config.hooks import Hook, HookPoint
from pool.config.load import flag_values
from pool.config.settings import Mode, SandboxChoice, Settings, SettingsError
from pool.extend.hooks.answer import Answer, HookFault, cleaned, read_answer
from pool.extend.hooks.running import HookPlaces, run_hook
from pool.headless.configured import folder_of
from pool.headless.plain import safe
from pool_tools.frozen import frozen
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

EXIT_FAILED = 1
SHOWN_CHARS = 4_000

_TOOL_POINTS = (HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL)


@frozen
class Sample:
    """What a hook is told of: a call by its tool and its arguments as JSON, or a prompt."""

    tool: str
    args: str
    prompt: str

    def told(self, point: HookPoint) -> dict[str, Any]:
        """The facts of a point. Raises `SettingsError`."""
        call = {"call": "call_test", "tool": self.tool, "arguments": self.arguments}
        match point:
            case HookPoint.SESSION_START:
                return {"source": "new"}
            case HookPoint.PROMPT:
                return {"prompt": self.prompt}
            case HookPoint.BEFORE_TOOL:
                return call
            case HookPoint.AFTER_TOOL:
                return {**call, "status": "ok", "result": "", "changed": []}
            case HookPoint.BEFORE_COMPACTION:
                return {"reason": "asked"}
            case HookPoint.STOP:
                return {"reason": "completed", "answer": "Done.", "final": False}

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the call. Raises `SettingsError`."""
        try:
            value: Any = json.loads(self.args)
        except ValueError as error:
            raise SettingsError(f"--args is no JSON: {error}") from None
        if not isinstance(value, dict):
            raise SettingsError("--args is no JSON object")
        return cast(dict[str, Any], value)


def try_hook(folder: str, name: str, sample: Sample, sandbox: str | None) -> int:
    """Returns the exit code. Raises `SettingsError`, OSError."""
    flags = flag_values({"sandbox.use": sandbox})
    settings = settings_for(folder_of(folder), os.environ, flags, with_key=False).settings
    hook = next((hook for hook in settings.hooks if hook.name == name), None)
    if hook is None:
        names = ", ".join(hook.name for hook in settings.hooks) or "none"
        raise SettingsError(f"there is no hook {name!r}; there are {names}")
    return asyncio.run(_try(settings, replace(hook, disabled=False), sample))


async def _try(settings: Settings, hook: Hook, sample: Sample) -> int:
    told = sample.told(hook.point)
    async with AsyncExitStack() as stack:
        confinement = await confine(settings, stack)
        workspace = Workspace(settings.workspace)
        stack.callback(workspace.close)
        toolbox = Toolbox(workspace, confinement.found.sandbox, None, confinement.network)
        stack.push_async_callback(toolbox.close)
        external = settings.sandbox is SandboxChoice.EXTERNAL
        places = HookPlaces(toolbox.commands, external or settings.sandbox is SandboxChoice.OFF, external)
        mode = settings.mode or Mode.DEFAULT
        hooks = SessionHooks([hook], places, EventHub("test"), lambda: mode.value, resumed=False)
        _say(confinement.note if hook.sandbox else "outside the sandbox, as configured")
        if hook.point in _TOOL_POINTS and not hooks.matches(hook, sample.tool, sample.arguments):
            _say(f"match = {hook.match} is not about this call of {sample.tool}; a session would not run it for that")
        payload, variables = hooks.handed(hook.point, told)
        _say(f"input: {json.dumps(payload, ensure_ascii=False)}")
        began = time.monotonic()
        try:
            ran = await run_hook(hook, payload, variables, places)
            _say(f"ended with status {ran.status} after {time.monotonic() - began:.2f} s")
            for what, text in (("output", ran.out), ("error output", ran.err)):
                if text.strip():
                    _say(f"{what}:\n{cleaned(text, SHOWN_CHARS)}")
            _say(_meaning(hook, read_answer(hook.point, ran)))
        except HookFault as fault:
            _say(f"{hook.name} failed: {fault}; a session would {hook.on_error.value} (on_error)")
            return EXIT_FAILED
    return 0


def _meaning(hook: Hook, answer: Answer) -> str:
    """What a session would do with an answer."""
    parts = [
        f"it says no: {answer.blocked}" if answer.blocked else "",
        f"it asks to go on: {answer.go_on}" if answer.go_on else "",
        f"the arguments become {json.dumps(answer.arguments)}" if answer.arguments is not None else "",
        f"the prompt becomes {answer.prompt!r}" if answer.prompt is not None else "",
        f"the model is told: {answer.context}" if answer.context else "",
        f"you are told: {answer.note}" if answer.note else "",
    ]
    return "\n".join(part for part in parts if part) or f"{hook.name} works; it lets all go on as it is"


def _say(text: str) -> None:
    print(safe(text, terminal=sys.stdout.isatty()))
