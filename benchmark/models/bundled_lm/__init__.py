"""The bundled language model, and the scripts that trained it on public-domain books and measured it."""
