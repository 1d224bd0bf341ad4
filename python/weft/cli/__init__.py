"""The command line: words in, tables and files out; everything else is below.

`main.py` starts; each command has a module, which imports what it needs when it runs, so that `weft --help` is fast.
"""
