"""A distributed Python program as a user writes it: some seconds of steps, then one file, by the first rank."""

import os
import sys
import tempfile
import time

import numpy as np

import weft

STEPS, SECONDS = 100, 1.0


def main() -> None:
    """Run the program; its word is the file."""
    geometry = weft.arrays.Geometry((64, 64))
    x = geometry.distribute(np.arange(64.0 * 64).reshape(64, 64))
    begin = time.monotonic()
    with geometry.polyshift(shifts=[(1, 0), (-1, 0), (1, 1), (-1, 1)]) as plan:
        for step in range(STEPS):
            north, south, west, east = plan(x)
            x.local[...] = (north.local + south.local + west.local + east.local) / 4
            time.sleep(max(0.0, begin + SECONDS * step / STEPS - time.monotonic()))
    whole = x.gather()
    if whole is not None:
        target = sys.argv[1]
        with tempfile.NamedTemporaryFile(dir=os.path.dirname(target), suffix=".part", delete=False) as file:
            np.save(file, whole)
        os.replace(file.name, target)


if __name__ == "__main__":
    main()
