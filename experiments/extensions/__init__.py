"""One configuration per extension, and the functions that one of them names."""
