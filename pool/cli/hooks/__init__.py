"""`pool hooks`: the hooks that count here, and trying one."""
