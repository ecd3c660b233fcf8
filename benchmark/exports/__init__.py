"""`divbench export`: what comes of a submission for other programs to read."""
