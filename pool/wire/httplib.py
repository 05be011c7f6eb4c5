"""httpx without its command line. Importing this is dear; do it where the first request goes out."""

from __future__ import annotations

import importlib.util
import sys

_COMMAND_LINE = "httpx._main"
"""Imports click, rich and Pygments where these are installed, which takes longer than all the rest of httpx."""

if _COMMAND_LINE not in sys.modules:
    # None makes an import fail, as the reference of `sys.modules` says; httpx then does without its command line.
    sys.modules[_COMMAND_LINE] = None  # pyright: ignore[reportArgumentType]  # the stubs leave this value out
    import httpx

    del sys.modules[_COMMAND_LINE]
else:
    import httpx

_OPTIONAL = "sniffio"
"""httpcore 1.0.9 looks for it twice a request; where it is not installed, that goes through all of `sys.path`."""

if _OPTIONAL not in sys.modules and importlib.util.find_spec(_OPTIONAL) is None:
    sys.modules[_OPTIONAL] = None  # pyright: ignore[reportArgumentType]  # as above

__all__ = ["httpx"]
