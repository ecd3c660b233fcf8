"""Response sets and a causal language model in; surprisals in bits, by order and position, out."""
