"""Programs over ranks whose calls do not match."""
