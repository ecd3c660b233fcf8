"""Which of two systems is more diverse, prompt by prompt, by every metric of a profile on the same texts."""
