"""`divbench submit`, `status` and `submissions`: the queue of the service from a terminal."""
