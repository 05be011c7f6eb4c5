"""What some tests need of the machine; without it they are skipped."""

from __future__ import annotations

import shutil

import pytest

bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
"""For what only its sandbox does: hiding files until they are allowed, a folder at the same place for each session."""
