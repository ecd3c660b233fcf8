"""The papers' tables, recomputed: in come released data and published numbers, out goes ours beside each of them."""
