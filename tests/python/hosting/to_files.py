"""Runs a script with what it prints in a file of its own: launchers mix the lines of their ranks."""

import os
import runpy
import sys

folder, script = sys.argv[1:]
sys.argv = [script]
sys.path.insert(0, os.path.dirname(script))
with open(os.path.join(folder, str(os.getpid())), "w") as sys.stdout:
    runpy.run_path(script, run_name="__main__")
sys.stdout = sys.__stdout__
