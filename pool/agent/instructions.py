"""The AGENTS.md files of a session: read once, watched for changes, taken anew on request."""

from __future__ import annotations

from pool.agent.history import History
from pool.config.settings import Settings
from pool.extend.agentsmd import NAME, Instructions, read_instructions
from pool_tools.home import base_folder, home

RELOAD = "/agents reload"
"""The command by which a change is taken."""

_CHANGED = f"[Pool] The {NAME} files were changed. From now on these hold, not the earlier ones:"
_GONE = f"[Pool] The {NAME} files were taken away: their instructions no longer hold."


def instructions_for(settings: Settings, nested: tuple[str, ...] | None = None) -> Instructions:
    """What holds for the settings' workspace now; nested as in `read_instructions`."""
    config = base_folder("XDG_CONFIG_HOME") / "pool"
    return read_instructions(settings.workspace, settings.agents_md, config, home(), nested)


class SessionInstructions:
    """What a session's model was told, and what the files say now. current is the latest reading."""

    def __init__(self, settings: Settings, current: Instructions) -> None:
        self.current = current
        self._settings = settings
        self._announced: str | None = None

    def shown(self) -> list[str]:
        """How the files that hold are called, for people."""
        return [file.shown for file in self.current.files]

    def news(self, history: History) -> str:
        """Read the files again; a line for people if they now differ from what the model was told, else ""."""
        # Only the files themselves: a look through the whole workspace would hold up the prompt.
        self.current = instructions_for(self._settings, self.current.nested)
        block = self.current.block
        if block == self._announced:
            return ""
        self._announced = block
        return "" if self._is_told(history) else f"{self._names()} changed since the model was told"

    def reload(self, history: History) -> str:
        """Tell the model what the files say now, as a message; what was done, for people."""
        self.current = instructions_for(self._settings)
        self._announced = block = self.current.block
        if self._is_told(history):
            return f"the model already knows what the {NAME} files say"
        history.add_user(f"{_CHANGED}\n\n{block}" if block else _GONE)
        return f"the model is told: {self._names()}, about {self.current.tokens:,} tokens"

    def _is_told(self, history: History) -> bool:
        """Whether the latest word on the files in the history is what they say now."""
        block = self.current.block
        texts = [m.message.content for m in history.messages]
        told = [text for text in texts if _CHANGED in text or _GONE in text]
        last = told[-1] if told else texts[0]
        if not block:
            return last.rfind(_GONE) >= last.rfind("<agents_md ")
        return last.rfind(block) > last.rfind(_GONE)

    def _names(self) -> str:
        return ", ".join(f.shown for f in self.current.files) or f"{NAME} (gone)"
