"""Export the board as web pages that open without a server, or as a Hugging Face Space."""
