"""`divbench metrics metaeval`: in come tasks and metrics, out goes how well they agree."""
