"""Attack metrics: from a submission's texts, make systems that only look diverse."""
