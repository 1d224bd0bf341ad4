"""Commands of weft under faults, and calls with awkward arguments."""
