"""Writing gold models from what silver has seen."""
