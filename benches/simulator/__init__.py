"""The simulator of messages."""
