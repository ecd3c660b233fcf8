"""Statistics over scores: in come values by prompt, labels and results; out go estimates, tests and ranks."""
