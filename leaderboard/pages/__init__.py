"""The pages of the board, one module each with its tables and figures; what the terminal shows needs no Gradio."""
