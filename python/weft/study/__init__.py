"""Compositions of the other parts: the study of this machine, reproductions of papers, subjects of comparisons."""
