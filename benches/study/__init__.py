"""Studies of this machine."""
