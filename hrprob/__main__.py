"""``python -m hrprob``: the command line."""

from hrprob.cli import console_main

if __name__ == "__main__":
    console_main()
