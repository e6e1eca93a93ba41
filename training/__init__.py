"""Our own encoder: from conversations and questions about them to the int8 graph that ships. See docs/encoder.md."""
