"""`python -m keepstone` is the `keepstone` command."""

from keepstone.cli import main

main()
