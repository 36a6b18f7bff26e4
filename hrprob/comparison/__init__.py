"""Who won? Runs that met the same users, held against each other trial by trial."""
