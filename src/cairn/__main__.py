"""`python -m cairn` is the `cairn` command."""

from cairn.cli import main

main()
