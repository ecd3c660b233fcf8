"""`metrics metaeval` and `divbench metrics heldout`: in come tasks and metrics, out goes how well they agree."""
