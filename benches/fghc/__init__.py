"""FGHC: engines, processing elements, large programs."""
