"""Pending submissions come in; published results go out: `divbench worker` and `divbench submissions rescore`."""
