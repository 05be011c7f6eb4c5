"""The tool `git`: a few actions with types, every process of git in the sandbox."""

from pool_tools.git.tool import GitTool

__all__ = ["GitTool"]
