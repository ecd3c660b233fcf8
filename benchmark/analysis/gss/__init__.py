"""Accuracy on GSSBench by model and metric: in come results of the suite gssbench, out go accuracies by split."""
