"""The keys of budgets and guards. Each of them may be lowered by a checkout: a guard that ends earlier allows less."""

from __future__ import annotations

from pool.config.keys import Key, Trust
from pool.config.kinds import Count, Kind, Number, Texts

_SHARE = Number(most=1.0)
_SECONDS = Number()


def _key(name: str, kind: Kind, doc: str, field: str, flag: str = "", variable: str = "") -> Key:
    trust = Trust.LOWER if isinstance(kind, Count) or kind is _SECONDS else Trust.TRUSTED
    danger = "a guard that holds less" if trust is Trust.TRUSTED else "runs may go on for longer, and cost more"
    variables = (variable,) if variable else ()
    return Key(name, kind, doc, field, trust, variables, flag, danger)


def _budget(name: str, doc: str, *, kind: Kind | None = None, flag: str = "", variable: str = "") -> Key:
    return _key(f"budgets.{name}", kind or Count(), doc, f"budgets.{name}", flag, variable)


def _session(name: str, doc: str, *, kind: Kind | None = None) -> Key:
    return _key(f"session.{name}", kind or Count(), doc, f"session_budgets.{name}")


def _guard(name: str, doc: str, *, kind: Kind | None = None) -> Key:
    return _key(f"guards.{name}", kind or Count(), doc, f"guards.{name}")


BUDGET_KEYS: tuple[Key, ...] = (
    _budget("turns", "Model replies.", flag="--max-turns", variable="POOL_MAX_TURNS"),
    _budget(
        "seconds",
        "Wall time in seconds, without waiting for approvals.",
        kind=_SECONDS,
        flag="--max-seconds",
        variable="POOL_MAX_SECONDS",
    ),
    _budget("tokens", "Tokens read and written in all.", flag="--max-tokens", variable="POOL_MAX_TOKENS"),
    _budget("reasoning_run", "Tokens of thought in a run.", flag="--max-reasoning", variable="POOL_MAX_REASONING"),
    _budget("reasoning_soft", "Tokens of thought in a turn at which people are told."),
    _budget("reasoning_turn", "Tokens of thought in a turn at which the thought is cut."),
    _budget("reasoning_first_turn", "The same for the first turn."),
    _budget("answer_tokens", "What a reply may take beside its thought, in tokens.", kind=Count(least=256)),
    _budget("denials_in_row", "Calls denied in a row that end the run."),
    _budget("idle_turns_note", "Turns without progress until the model is told."),
    _budget("idle_turns_stop", "Turns without progress that end the run."),
    _budget("idle_stop_seconds", "Seconds without progress that end the run.", kind=_SECONDS),
    _session("turns", "Model replies."),
    _session("seconds", "Wall time of its runs in seconds.", kind=_SECONDS),
    _session("tokens", "Tokens read and written."),
    _session("reasoning", "Tokens of thought."),
)

GUARD_KEYS: tuple[Key, ...] = (
    _guard(
        "restart_phrases",
        "Regular expressions for sentences that restart a plan, beside the built-in ones.",
        kind=Texts(patterns=True),
    ),
    _guard("restarts", "Restarts of the plan that cut a thought."),
    _guard("same_sentence", "How often one sentence may come before the thought is cut."),
    _guard("code_lines", "Longest fenced block of code in a thought, in lines."),
    _guard("cycle_rounds", "Rounds of a cycle of calls until the note; two more end the run."),
    _guard("returns_note", "How often edits may bring a file's earlier contents back until the note."),
    _guard("returns_stop", "The same, until the run ends."),
    _guard("reads_after_plan", "Turns that only read after the plan is complete, until the note."),
    _guard("announcements", "Nudges in a row for an action that is announced and not taken."),
    _guard("unknown_tools", "Calls in a row of tools that do not exist, that end the run."),
    _guard("cuts", "Thoughts cut without progress that end a run."),
    _guard("cuts_acting", "The same, where calls followed the cuts."),
    _guard("told_share", "Share of a budget at which the model is told.", kind=_SHARE),
    _guard("repeats.note", "A note to the model."),
    _guard("repeats.firm", "A firmer note."),
    _guard("repeats.block", "The call is not run any more."),
    _guard("repeats.stop", "The run ends."),
    _guard("repeats.polling", "How many times as often a command that waits may repeat.", kind=Count(least=1)),
    _guard("signals.zlib_ratio", "A tail that compresses to less repeats itself.", kind=_SHARE),
    _guard("signals.unique_line_share", "A tail of which fewer lines differ repeats itself.", kind=_SHARE),
    _guard("signals.phrase_words", "Words of a phrase that is looked for.", kind=Count(least=2)),
    _guard("signals.phrase_repeats", "How often it may come in the tail."),
    _guard("signals.phrase_zlib_ratio", "It counts where the tail compresses to less.", kind=_SHARE),
    _guard("signals.answer_zlib_ratio", "An answer whose end compresses to less repeats itself.", kind=_SHARE),
    _guard("signals.near_same", "Sentences of hesitation that differ in numbers only, that cut a thought."),
)
