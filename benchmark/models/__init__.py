"""Models at the edge: a protocol for each kind, and its real implementations."""
