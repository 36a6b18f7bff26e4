"""What happens: arrivals, serving, the engine and its results."""
