"""What reads files that are no plain text: `python -m keepstone.providers.parsers pdf`, from stdin, to JSON on stdout.

A process of its own, because these files come from strangers and their formats are large. It gives up most of what a
process may do before it sees a byte of the file, and it ends with the file. Each line it writes is a section, or, as
the only line, the name of a reason for which the file is refused. It must not write a file, open a connection, or say
a word about the file on stderr.
"""
