"""Ping-pong through weft beside plain C."""
