"""`python -m pool.lab.spark`."""

from __future__ import annotations

import sys

from pool.lab.spark.command import main

sys.exit(main(sys.argv[1:]))
