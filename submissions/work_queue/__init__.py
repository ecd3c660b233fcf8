"""Queue submissions, let workers claim and score them, and keep the state and history of each."""
