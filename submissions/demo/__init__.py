"""Our own responses in; the demo submissions, known-bad baselines among them, out."""
