"""Responses of several systems to the same prompts in; how alike the systems are and what two of them cover out."""
