"""Configuration files, one a question, and the published curves they are held against."""
