"""A submission's texts in; systems that look diverse without being so out, and how they are written."""
