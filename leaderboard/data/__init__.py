"""Result folders and stores in; tables of comparable numbers out. Pure but for reading files."""
