"""Pending submissions in; published results out: `divbench worker` and `divbench submissions rescore`."""
