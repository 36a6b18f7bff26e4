"""What is believed of θ and φ: one engine a file, one contract (see :mod:`.base`)."""
