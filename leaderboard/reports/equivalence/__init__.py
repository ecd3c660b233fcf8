"""`divbench metrics equivalence`: in come submissions, out go classes by equivalence backend and their agreement."""
