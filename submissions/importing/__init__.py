"""Files of other projects in; checked submission folders out."""
