"""From the flags of `pool run` and stdin to settings, a prompt and an output."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pool.config.settings import Settings, SettingsError
from pool.headless.attached import attached
from pool.headless.configured import as_text, folder_of, settings_from
from pool.headless.gitwishes import GitWishes, wishes_of
from pool.headless.live import LiveOptions
from pool.headless.options import RunOptions, named, options_of
from pool.headless.output import output_for
from pool.headless.startfolder import started_in
from pool.headless.stdin import StdinTooLong, read_stdin
from pool.stops import StopReason

EXIT_USAGE = 2


def run(args: argparse.Namespace) -> int:
    """Work the prompt that the flags give; returns the exit code."""
    try:
        wishes = wishes_of(args)
        settings = settings_from(args, program="pool run")
        prompt = prompt_from(args)
        settings = started_in(args, settings, prompt, "pool run")
        options, settings = named(options_of(args), settings, args.session)
        if args.dry_run:
            from pool.headless.dryrun import show_request

            return show_request(settings, options.asked(prompt))
        _refuse_together(args, options)
    except SettingsError as error:
        from pool.headless.run import fail_early

        return fail_early(output_for(args.output), StopReason.USAGE_ERROR, str(error))
    level = 0 if args.quiet else 1 if args.verbose or sys.stderr.isatty() else 0
    if args.detach or args.on_hangup == "detach":
        return _run_live(args, settings, prompt, wishes, _live(options), level)
    from pool.headless.run import run_to_end

    return run_to_end(settings, prompt, output=args.output, level=level, wishes=wishes, options=options)


def _live(options: RunOptions) -> LiveOptions:
    return LiveOptions(options.notify, options.name, form=options.form, artifacts=options.artifacts)


def _run_live(
    args: argparse.Namespace, settings: Settings, prompt: str, wishes: GitWishes, options: LiveOptions, level: int
) -> int:
    """Work the prompt in a process that outlives the terminal."""
    from pool.headless.live.starting import NotStarted, run_detached, run_followed
    from pool.headless.output import Progress
    from pool.headless.run import fail_early

    out = output_for(args.output, form=options.form)
    try:
        if args.detach:
            return run_detached(settings, prompt, wishes, options, args.output)
        return run_followed(settings, prompt, wishes, options, (Progress(sys.stderr, level), out))
    except NotStarted as error:
        return fail_early(out, error.reason, error.detail, error.remedy)


def _refuse_together(args: argparse.Namespace, options: RunOptions) -> None:
    """Raise for what a run in the background cannot do, and for a plan that nothing can hold."""
    if options.approves_plan and (args.plan or not (args.continue_last or args.resume or args.session)):
        raise SettingsError(
            "--approve-plan goes on with a session that has a plan: give -c, -r ID or --session NAME too"
        )
    if not (args.detach or args.on_hangup == "detach"):
        return
    if options.driven:
        raise SettingsError(
            "-i stream-json cannot be together with --detach or --on-hangup detach: stdin ends with the terminal. "
            "A detached run takes the same lines on its socket, which --detach -o json names"
        )
    if options.approves_plan:
        raise SettingsError("--approve-plan cannot be together with --detach or --on-hangup detach")


def show(args: argparse.Namespace, program: str) -> int:
    """Print the first request that the flags lead to; returns the exit code."""
    import json

    from pool.agent.firstrequest import first_request
    from pool.wire.tokens import TokenMeter

    try:
        settings = settings_from(args, program=program, with_key=False)
    except SettingsError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return EXIT_USAGE
    body = first_request(settings, settings.model or "MODEL", " ".join(args.prompt) or "PROMPT")
    print(json.dumps(json.loads(body), ensure_ascii=False, indent=2))
    tokens = TokenMeter().estimate(body).tokens
    sys.stderr.write(f"{len(body):,} bytes, about {tokens:,} tokens; the server may get fields of its own besides\n")
    return 0


def prompt_from(args: argparse.Namespace) -> str:
    """The prompt: argument, then file, then what stdin holds, then the files after `--`.

    Raises `SettingsError` if there is none, unless a program is to send it.
    """
    words: list[str] = args.prompt
    parts: list[str] = []
    if words and words != ["-"]:
        parts.append(as_text(" ".join(words)))
    if args.file:
        parts.append(_file_text(args.file))
    driven = args.input == "stream-json"
    try:
        piped = "" if driven else read_stdin(only_prompt=not parts, to_end=words == ["-"])
    except StdinTooLong as error:
        raise SettingsError(str(error)) from None
    if piped.strip():
        parts.append(piped)
    prompt = "\n\n".join(p for p in parts if p.strip())
    if prompt.strip() and args.files:
        prompt = f"{prompt}\n\n{attached(args.files, folder_of(args.dir))}"
    if not prompt.strip() and not driven and not args.approve_plan:
        raise SettingsError('there is no prompt; give one: pool run "PROMPT", -f FILE, or on stdin')
    return prompt


def _file_text(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SettingsError(f"cannot read the prompt from {name!r}: {error.strerror}") from None
