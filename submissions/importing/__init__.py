"""Convert the files of other projects to checked submission folders."""
