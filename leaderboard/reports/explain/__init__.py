"""One response set and a language model in; everything behind its D_Can out (`divbench metrics explain`)."""
