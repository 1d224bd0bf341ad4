"""Checks of memory and threads."""
