"""Connection sets: the compiler, and exchanges with neighbours."""
