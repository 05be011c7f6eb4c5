"""Whether the interface is shown by `pool web`, in a browser: then standard streams carry textual-serve's packets."""

from __future__ import annotations

from collections.abc import Mapping

DRIVER_VARIABLE = "TEXTUAL_DRIVER"
DRIVER = "textual.drivers.web_driver:WebDriver"


def in_browser(environ: Mapping[str, str]) -> bool:
    """Whether textual-serve started this."""
    return environ.get(DRIVER_VARIABLE) == DRIVER
