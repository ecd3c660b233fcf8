"""`divbench metrics equivalence`: which answers say the same, by several backends, as tables and a figure."""
