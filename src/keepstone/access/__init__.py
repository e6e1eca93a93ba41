"""Who may: credentials, principals, read scopes, audit.

A principal is made in `principals`, a read scope in `readscope`, and nowhere else.
"""
