"""`divbench metaeval`: metrics tested against labels, people and prompt pairs, as tables and figures."""
