"""Confining commands: bubblewrap where it works, said honestly where nothing does."""

from pool_tools.sandbox.base import Launch, NoSandbox, Policy, Sandbox

__all__ = ["Launch", "NoSandbox", "Policy", "Sandbox"]
