"""Shifts, stencils and halo exchanges."""
