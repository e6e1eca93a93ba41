"""OpenAI's own protocol under `/v1`: chat completions, responses, models, embeddings. Their clients need only another
address and a key of ours.
"""
