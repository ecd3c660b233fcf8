"""Reference results: known systems scored here from their released responses. Only the numbers ship, not the texts."""
