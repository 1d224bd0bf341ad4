"""Ranks under the launchers of several MPIs."""
