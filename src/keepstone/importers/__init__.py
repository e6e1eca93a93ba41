"""What others remember, brought into a running Keepstone through its public interface, with its owner's key; and taken
out.

A source is a function that reads item by item and never holds more than one of them: `chatgpt`, `claude`, `openwebui`,
`slack`, `whatsapp`, `mem0`, `openmemory`, `letta`, `markdown`, `transcript`, `archive`. `delivery` sends what they
yield, `journal` remembers what has arrived. Nothing here opens Keepstone's own database: what a key may not do, an
import can't.
"""
