"""Two responses and what the embedder reads of them in; the probability that they are equivalent out."""
