"""What exists: small frozen dataclasses, a file a noun. Nothing here reads, writes or decides."""
