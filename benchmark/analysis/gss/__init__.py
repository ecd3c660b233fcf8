"""GSSBench by model and metric: turns results of the suite gssbench into accuracies by split."""
