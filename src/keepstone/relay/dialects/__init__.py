"""OpenAI's two protocols: what a request says and how it is changed, what an answer holds and what the client sees."""
