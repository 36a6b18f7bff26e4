"""One configuration an extension, and the functions that one of them names."""
