"""Statistics over scores: turns values by prompt, labels and results into estimates, tests and ranks."""
