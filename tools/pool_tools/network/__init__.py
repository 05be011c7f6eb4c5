"""The network of commands where it is limited to a list of hosts: rules, and the proxy that keeps them."""
