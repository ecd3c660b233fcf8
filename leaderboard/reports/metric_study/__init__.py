"""`divbench metrics study`: in come tasks, metrics and results of gssbench, out goes the study that the board shows."""
