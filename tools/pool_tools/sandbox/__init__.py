"""Confining commands: bubblewrap or Landlock where they work, said honestly where nothing does."""

from pool_tools.sandbox.base import Access, CannotExpress, Launch, NoSandbox, Policy, Sandbox
from pool_tools.sandbox.bounds import Bounds

__all__ = ["Access", "Bounds", "CannotExpress", "Launch", "NoSandbox", "Policy", "Sandbox"]
