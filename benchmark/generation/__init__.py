"""A model and the prompts of a suite in; a submission of sampled responses out. Interrupted runs resume."""
