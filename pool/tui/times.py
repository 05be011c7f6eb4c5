"""How long things last and count in the interface, in seconds."""

from __future__ import annotations

AGAIN_SECONDS = 2.0
"""A second Ctrl-C within this time leaves; a second Esc within it rewinds."""

AFTER_STOP_SECONDS = 1.0
"""For so long after a stop no Esc counts as the first of two."""

PASTE_HINT_SECONDS = 6.0

STATUS_SECONDS = 5.0
"""How often the branch is looked at while nothing happens."""

WATCH_SECONDS = 2.0
"""How often a server that works on a reply is asked how it does, where it tells."""
