"""Tables of the papers, recomputed from what was released: ours beside what was printed, and why where they differ."""
