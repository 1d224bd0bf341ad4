"""What `weft health` finds."""
