"""The campaign's parts are beside the tests of the whole: benches/faults."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "benches" / "faults"))
