"""A system's response sets in; what each attack on diversity metrics gains, metric by metric, out."""
