"""Who gets the keys while a question waits: one letter is an answer, a word is text for the prompt box.

The app asks here before it gives a key to anything, so that keys stay in the order in which they came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual import events
from textual.screen import Screen

from pool.facekit.heldkey import HeldKey, Later

if TYPE_CHECKING:
    from pool.tui.app import PoolApp

WAITS = "a question waits: empty the box and press Tab, or click"
WAITS_SECONDS = 10.0


@runtime_checkable
class Asking(Protocol):
    """A panel or a page whose answers are single letters."""

    @property
    def ready(self) -> bool:
        """Whether a letter answers."""
        ...

    def came_too_soon(self) -> None:
        """A letter came before any counts: the next ones are no answers either."""
        ...

    def open_words(self, key: str) -> bool:
        """Open the line for words if that is what a letter does: what follows it at once is meant for that line."""
        ...


class QuestionKeys:
    """Used on the app's loop."""

    def __init__(self, app: PoolApp, later: Later | None = None) -> None:
        """later is the clock of a held letter, Textual's by default."""
        self._app = app
        self._held = HeldKey[events.Key](later or (lambda seconds, call: app.set_timer(seconds, call).stop))
        self._letter_held = ""
        self._over: Asking | None = None
        """The page over which words were typed last."""

    def lead_to_new(self) -> None:
        """A question came: it gets the keys, unless the user is writing."""
        app = self._app
        if not app.box.text and len(app.screen_stack) == 1:
            self.lead_on()
        else:
            app.hint(WAITS, WAITS_SECONDS)

    def lead_back(self) -> None:
        """The box was emptied: what waits for an answer gets the keys again."""
        app = self._app
        for panel in (app.approval, app.questions):
            if not app.box.text and panel.waiting:
                panel.settle_anew()
                self.lead_to_new()
                return

    def lead_on(self) -> None:
        """The keys are for what still waits for an answer, else for the box."""
        app = self._app
        panels = (app.approval, app.questions)
        next((panel for panel in panels if panel.waiting), app.box).focus()

    def take(self, event: events.Event) -> bool:
        """Take a key or a paste that is for nobody else yet; False where it goes on as usual."""
        asking = self._asking()
        match event:
            case events.Paste() if asking is not None:
                self._give(event, asking)
                return True
            case events.Key() if asking is not None or self._held.holding:
                return self._letter(event, asking) if event.is_printable else self._other(event, asking)
            case _:
                return False

    def _asking(self) -> Asking | None:
        """What takes single letters for answers now."""
        app = self._app
        if len(stack := app.screen_stack) != 1:
            page: Screen[object] | None = stack[-1] if stack else None
            return page if isinstance(page, Asking) else None
        panels = (app.approval, app.questions)
        return next((panel for panel in panels if panel is app.focused and panel.waiting and not panel.writing), None)

    def _letter(self, event: events.Key, asking: Asking | None) -> bool:
        if self._held.holding and event.character == self._letter_held and self._letter_held.isalpha():
            self._held.again(event)
            return True
        if self._held.holding or self._is_amid_words(asking):
            self._give(event, asking)
            return True
        if asking is None:
            return False
        if asking.open_words(event.key):
            return True
        came_in_time = asking.ready
        if not came_in_time:
            asking.came_too_soon()

        def meant() -> None:
            if came_in_time and self._asking() is asking:
                self._app.call_later(self._app.hand_on, event)

        self._letter_held = event.character or ""
        self._held.hold(event, meant)
        return True

    def _other(self, event: events.Key, asking: Asking | None) -> bool:
        """A key that writes nothing: Enter after a letter confirms it, Esc takes it back."""
        if event.key == "enter" and self._is_amid_words(asking):
            self._app.box.post_message(event)
            return True
        if event.key == "enter" and self._held.holding:
            self._held.release()
            return True
        self._held.take()
        return False

    def _is_amid_words(self, asking: Asking | None) -> bool:
        """Whether words are being typed over a page, which keeps the keys."""
        return asking is not None and asking is self._over and not asking.ready

    def _give(self, event: events.Key | events.Paste, asking: Asking | None) -> None:
        """To the prompt box, with what was held."""
        app, held = self._app, self._held.take()
        if asking is not None and len(app.screen_stack) > 1:
            self._over = asking
            asking.came_too_soon()
        else:
            app.screen.set_focus(app.box)
            app.hint(WAITS, WAITS_SECONDS)
        for key in (*held, event):
            app.box.post_message(key)
