"""Scores the pending submissions of a queue and publishes results: `divbench submissions score | rescore`."""
