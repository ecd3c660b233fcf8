"""Paired tests between systems or groups of prompts: in come values by prompt, out go effect sizes and p-values."""
