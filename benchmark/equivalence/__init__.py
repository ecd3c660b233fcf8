"""The responses to a prompt in; their partition into equivalence classes out."""
