"""When no model server is found: a short guided page instead of a dead end. Nothing is written unasked."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from pool.config.files import Places
from pool.config.settings import USUAL_PORTS, Settings
from pool.facekit.simulated import MISSING, Simulated, can_simulate
from pool.tui.askline import AskLine
from pool.tui.startpage import StartPage, Way

if TYPE_CHECKING:
    from pool.tui.app import PoolApp

PORT_OWNERS = {8000: "vLLM", 30000: "SGLang", 8080: "llama.cpp", 11434: "Ollama", 1234: "LM Studio"}

AGAIN, ADDRESS, SIMULATE, LEAVE, USE, KEEP = "again", "address", "simulate", "leave", "use", "keep"

EXAMPLE = "http://spark.local:8000/v1"

START_EXAMPLE = (
    "vllm serve poolside/Laguna-S-2.1-NVFP4 --enable-auto-tool-choice --tool-call-parser poolside_v1 "
    "--reasoning-parser poolside_v1 --port 8000"
)


def tried(settings: Settings, why: str) -> str:
    """What was tried, in words."""
    if settings.base_url:
        return f"{why[:1].upper()}{why[1:].rstrip('.')}."
    ports = ", ".join(f"{port} ({PORT_OWNERS.get(port, '')})" for port in USUAL_PORTS)
    return (
        f"Pool works with a model server, and none answers on this machine. Tried on 127.0.0.1: ports {ports}.\n\n"
        f"With vLLM, for example, one is started so:\n{START_EXAMPLE}"
    )


class FirstStart:
    """The page, and what follows from it. Used on the app's loop."""

    def __init__(self, app: PoolApp) -> None:
        self._app = app
        self._simulated = Simulated()
        self._why = ""

    def show(self, why: str) -> None:
        """Show the page. why is what went wrong."""
        self._why = why
        ways = [
            Way("r", "try again", AGAIN),
            Way("a", "type the address of a server", ADDRESS),
            *self._last_ways(),
        ]
        page = StartPage("No model server yet", tried(self._app.driver.settings, why), ways)
        self._app.push_screen(page, self._chosen)

    def _last_ways(self) -> list[Way]:
        """Those that need no server."""
        lacks = "" if can_simulate() else f" ({MISSING})"
        return [
            Way("s", f"the simulated server: no model, but everything can be tried{lacks}", SIMULATE),
            Way("q", "leave", LEAVE),
        ]

    def _chosen(self, way: str | None) -> None:
        match way:
            case "again":
                self._reopen(self._app.driver.settings)
            case "address":
                self._ask_address(self._app.driver.settings.base_url)
            case "simulate":
                self._app.actions.spawn(self._simulate())
            case "leave":
                self._app.leave()
            case _:
                self._app.hint("send a prompt to come back to the choice of a server", 6.0)

    def _reopen(self, settings: Settings) -> None:
        self._app.settings = self._app.driver.settings = settings
        self._app.actions.open_session()

    # -- an address -------------------------------------------------------------------------------------------------

    def _ask_address(self, before: str) -> None:
        about = "The model server's address, as HOST:PORT or whole. Nothing is written yet."

        def asked(address: str | None) -> None:
            if address:
                self._app.actions.spawn(self._look(address))
            else:
                self.show(self._why)

        self._app.push_screen(AskLine("Address of the server", about, before, EXAMPLE), asked)

    async def _look(self, address: str) -> None:
        from pool.facekit.looking import look_at

        self._app.hint(f"asking {address}", 4.0)
        found = await look_at(address, self._app.driver.settings)
        file = Places.usual(os.environ).user_file
        self._app.hint("")
        other = Way("a", "another address", ADDRESS)
        if found.usable:
            ways = [
                Way("u", "use it now, write nothing", USE),
                Way("k", f"use it and keep it in {file}", KEEP),
                other,
                Way("q", "leave", LEAVE),
            ]
        else:
            ways = [Way("r", "try it again", AGAIN), other, *self._last_ways()]

        def chosen(way: str | None) -> None:
            if way in (USE, KEEP):
                self._reopen(replace(self._app.driver.settings, base_url=found.base_url, server_named=way == USE))
                if way == KEEP:
                    self._app.actions.spawn(self._keep(found.base_url))
            elif way == ADDRESS:
                self._ask_address(address)
            elif way == AGAIN:
                self._app.actions.spawn(self._look(address))
            else:
                self._chosen(way)

        title = "A model server" if found.usable else "No model server there"
        self._app.push_screen(StartPage(title, found.words, ways), chosen)

    async def _keep(self, base_url: str) -> None:
        from pool.facekit.looking import keep

        try:
            self._app.actions.say(await keep(base_url))
        except OSError as error:
            self._app.actions.say_error("the address was not kept", str(error))

    # -- the simulated server ---------------------------------------------------------------------------------------

    async def _simulate(self) -> None:
        if not can_simulate():
            self._app.actions.say_error("the simulated server is not there", MISSING)
            self.show(self._why)
            return
        self._app.hint("starting the simulated server", 4.0)
        try:
            url = await self._simulated.start()
        except OSError as error:
            self._app.actions.say_error("the simulated server could not be started", str(error))
            self.show(self._why)
            return
        self._app.actions.say("A simulated server runs for this session; it ends with it. It is no language model.")
        self._reopen(replace(self._app.driver.settings, base_url=url, model="", server_named=False))

    async def stop(self) -> None:
        """End the simulated server, if one was started."""
        await self._simulated.stop()
