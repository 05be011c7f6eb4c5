"""The version of vLLM whose wire is simulated."""

VERSION = "0.25.1"
