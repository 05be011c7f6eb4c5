"""httpx without its command line. Importing this is dear; do it where the first request goes out."""

from __future__ import annotations

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

__all__ = ["httpx"]
