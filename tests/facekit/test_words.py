"""Words of Pool's own beside the user's."""

from __future__ import annotations

from pool.facekit.words import without_note


def test_a_note_of_pools_is_told_from_what_the_user_said() -> None:
    assert without_note("Mend it.\n\n[Pool] The session goes on elsewhere.") == (
        "Mend it.",
        "The session goes on elsewhere.",
    )
    assert without_note("[Pool] The user lets you go on.") == ("", "The user lets you go on.")
    assert without_note("What does [Pool] mean?") == ("What does [Pool] mean?", "")
