"""Pages of the documentation site that are made of the sources, so that every fact is written in one place."""
