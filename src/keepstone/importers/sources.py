"""Which sources there are, by the name that the command line calls them."""

from keepstone.importers import (
    archive,
    chatgpt,
    claude,
    letta,
    markdown,
    mem0,
    openmemory,
    openwebui,
    slack,
    transcript,
    whatsapp,
)
from keepstone.importers.items import Source

SOURCES: dict[str, Source] = {
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "openwebui": openwebui.read,
    "slack": slack.read,
    "whatsapp": whatsapp.read,
    "mem0": mem0.read,
    "openmemory": openmemory.read,
    "letta": letta.read,
    "markdown": markdown.read,
    "jsonl": transcript.read,
    "keepstone": archive.read,
}
