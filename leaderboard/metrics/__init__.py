"""The board of metrics: how each agrees with people, with constructions and with the others, and what it is."""
