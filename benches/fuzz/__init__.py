"""Mutation fuzzing of every format that weft reads."""
