"""What happens: the engine and its results."""
