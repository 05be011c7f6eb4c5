"""`python -m pool.sim`."""

import sys

from pool.sim.cli import main

sys.exit(main())
