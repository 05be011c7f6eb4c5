"""Checkpoints: what files held before a run changed them, and bringing that back."""
