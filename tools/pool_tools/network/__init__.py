"""The network of commands where it is limited to a list of hosts: rules, and the proxy that keeps them."""

from pool_tools.network.rules import AllowList, HostRule, RuleError

__all__ = ["AllowList", "HostRule", "RuleError"]
