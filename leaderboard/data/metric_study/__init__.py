"""Studies how well metrics agree with people, labels and each other, and records the results."""
