"""Behind the page Submit: strangers' files are taken aside, checked and handed in. No Gradio in here."""
