"""Human judgements of response sets: store each vote on a pair exactly once, make rating forms and read ratings."""
