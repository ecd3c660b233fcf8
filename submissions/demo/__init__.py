"""The demonstration's texts in; submissions out, known-bad baselines among them."""
