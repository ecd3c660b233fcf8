"""`divbench explain`: one response set under a language model, for people who invent or doubt metrics of diversity."""
