"""Results on GSSBench in; how often each metric orders prompt pairs correctly out (`divbench metrics gss`)."""
