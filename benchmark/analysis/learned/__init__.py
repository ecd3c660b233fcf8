"""Metrics fitted to labels: combines scores of sets and measures the combinations on held-out sets."""
