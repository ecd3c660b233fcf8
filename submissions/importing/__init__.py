"""Other projects' files in; submission folders out."""
