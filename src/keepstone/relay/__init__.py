"""A model's turn with memory in it: what a client asks is relayed, with what is remembered, and with tools of ours.

`dialects` are OpenAI's two protocols, `rounds` asks the model as long as it calls our tools, `turn` says what is
remembered and kept, `conversation` is the chat of the dashboard. HTTP is the surfaces' and the providers'.
"""
