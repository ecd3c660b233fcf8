"""Serve the results as a web application, built with Gradio."""
