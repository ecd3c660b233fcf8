"""Pending submissions come in; published results go out: `divbench submissions score | rescore`."""
