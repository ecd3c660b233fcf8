"""Tests between systems or between groups of prompts: turns values by prompt into effect sizes and p-values."""
