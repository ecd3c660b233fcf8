"""Make the demonstration submissions, including known-bad baselines, from our own responses."""
