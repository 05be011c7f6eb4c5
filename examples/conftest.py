"""The examples are programs of their own, with tests that fail on purpose: keep them out of the project's test run."""

collect_ignore_glob = ["inventory/*"]
