"""The list of offers under the prompt box: when it opens, and what comes of an offer that is taken."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pool.tui.completion import Offer
from pool.tui.offers import Offers

if TYPE_CHECKING:
    from pool.tui.app import PoolApp

GROUP = "complete"
"""The workers that look for offers."""


class Completing:
    """Between the box, its list and what is offered. Used on the app's loop."""

    def __init__(self, app: PoolApp) -> None:
        self._app = app
        self.offers = Offers(lambda: app.settings.workspace, app.actions.command_offers, app.actions.skill_offers)

    def begin(self, *, asked: bool = False) -> None:
        """Find offers for what is being typed; a newer key makes an older search void. asked: by Tab."""
        self._app.run_worker(partial(self._find, asked), exclusive=True, group=GROUP)

    async def _find(self, asked: bool) -> None:
        box = self._app.box
        row, column = box.cursor_location
        word, _ = box.word_at_cursor()
        line = box.document.get_line(row)[:column] if row == 0 else ""
        if asked and not word.startswith(("/", "@", "$")):
            found = await self.offers.files(word) if word else ()
        else:
            found = await self.offers.find(line, word)
        if [o.text for o in found] == [word]:
            found = ()
        self._app.completion.show_offers(found)
        box.popup_open = self._app.completion.open

    def close(self) -> bool:
        """Close the list; whether it was open."""
        was_open = self._app.completion.open
        self._app.workers.cancel_group(self._app, GROUP)  # pyright: ignore[reportUnknownMemberType] Textual leaves the result's type open
        self._app.completion.show_offers(())
        self._app.box.popup_open = False
        return was_open

    def accept(self, *, entered: bool) -> None:
        """Take the chosen offer. Enter sends what is typed in full, and a command whose argument is not begun."""
        box, completion = self._app.box, self._app.completion
        offer = completion.chosen
        if offer is None:
            return
        line = box.document.get_line(box.cursor_location[0])
        unbegun = entered and line.endswith(" ") and not completion.moved
        if offer.line and (line.strip() == offer.text or unbegun):
            self.close()
            box.action_send()
        else:
            self.put(offer)

    def put(self, offer: Offer) -> None:
        """Put an offer in the place of what it completes."""
        end = "" if offer.text.endswith("/") else " "
        if offer.line:
            self._app.box.replace_line(offer.text + end)
        else:
            self._app.box.replace_word(offer.text + end)
        self.close()
        self.begin()
