"""Result folders and stores in; boards (tables of comparable numbers) and their per-prompt scores out."""
