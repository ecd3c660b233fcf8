"""What an open model's likelihoods and hidden states say of responses: read by teacher forcing, reduced, kept."""
