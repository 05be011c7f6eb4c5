"""What a `pool run` does besides working its prompt: the form of its answer, files to leave, a name, who drives it."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pool.config.settings import Settings, SettingsError
from pool_tools.frozen import frozen
from pool_tools.home import expanded

if TYPE_CHECKING:
    from pool.agent.answerform import AnswerForm
    from pool.agent.factory import Extras


@frozen
class RunOptions:
    """form is what the answer has to fit, artifacts the folder to leave files in, name what a new session is called.

    notify is a command of the user's, run at the end and when an answer is due.
    approves_plan: the session's plan that waits is approved, with the prompt, if there is any, in its place.
    driven: a program sends prompts, answers and more on stdin; the run's own prompt is the first one, and may be "".
    """

    form: AnswerForm | None = None
    artifacts: Path | None = None
    name: str = ""
    driven: bool = False
    notify: str = ""
    approves_plan: bool = False

    def asked(self, prompt: str) -> str:
        """A prompt as it goes to the model."""
        return self.form.asked(prompt) if self.form else prompt


NO_OPTIONS = RunOptions()


def extras_for(form: AnswerForm | None) -> Extras:
    """What a session needs besides so that its answers fit a form."""
    from pool.agent.factory import NO_EXTRAS, Extras

    if form is None:
        return NO_EXTRAS
    from pool.agent.answerform import FormGuard

    return Extras(guards=lambda: [FormGuard(form)])


def options_of(args: argparse.Namespace) -> RunOptions:
    """The options that the flags give. Raises `SettingsError`."""
    form = None
    if args.output_schema:
        from pool.agent.answerform import AnswerForm

        form = AnswerForm.read(Path(args.output_schema))
    driven = args.input == "stream-json"
    if driven and args.prompt == ["-"]:
        raise SettingsError("with -i stream-json prompts come as lines of JSON; leave out the -")
    return RunOptions(form, _folder(args.artifacts), driven=driven, notify=args.notify, approves_plan=args.approve_plan)


def named(options: RunOptions, settings: Settings, name: str) -> tuple[RunOptions, Settings]:
    """Options and settings for `--session NAME`: the workspace's session of that name, else a new one is to get it."""
    if not name:
        return options, settings
    if settings.resume or settings.continue_last or settings.fork or settings.ephemeral:
        raise SettingsError("--session names the session: leave out -c, -r, --fork and --ephemeral")
    from pool.sessions.index import SessionIndex
    from pool.sessions.store import sessions_folder
    from pool.sessions.summary import TITLE_CHARS, plain_line

    name = plain_line(name)[:TITLE_CHARS]
    if not name:
        raise SettingsError("--session needs a name with visible characters")
    with SessionIndex(sessions_folder(), lambda text: None) as index:
        found = next((entry.id for entry in index.entries(str(settings.workspace)) if entry.name == name), "")
    if found:
        return options, replace(settings, resume=found)
    return replace(options, name=name), settings


def _folder(given: str | None) -> Path | None:
    if not given:
        return None
    folder = expanded(given).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"--artifacts {given!r} cannot be made: {error.strerror}") from None
    return folder
