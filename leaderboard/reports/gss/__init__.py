"""`divbench gss`: which metric finds the prompt with the larger generation space, for each model, on GSSBench."""
