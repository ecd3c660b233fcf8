"""Reference results: known systems scored here from their released responses. Numbers only; their texts do not ship."""
