"""``python -m probewise`` is the command line."""

from probewise.cli import main

if __name__ == "__main__":
    main(prog_name="probewise")
