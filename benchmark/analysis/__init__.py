"""Results and labels in; comparisons out: rankings, paired tests, meta-evaluation, reproduced tables."""
