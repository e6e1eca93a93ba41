"""From which relevance on each surface shows what it found, where whoever asks says nothing else.

Relevance is a probability. Below these nothing is shown, so that "nothing found" can be said; `min_relevance`, 0 for
everything, is above them all. A scope's recall has none but what is asked for.
"""

GRAPH = 0.5  # recall from a graph: a model reads it, and takes it for true
SEARCH = 0.35  # capsules by meaning, for a person or a model: whoever looks can tell
RELATED = 0.3  # beside what is being written, where a suggestion that doesn't fit is only in the way
WORKSPACE = 0.05  # of one search among memories, documents and artifacts, where all share the chance
