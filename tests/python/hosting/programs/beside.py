"""A module of the program."""

mine: list[int] = []
