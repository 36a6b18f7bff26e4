"""Configuration files, one per question, and the published curves that they are compared with."""
