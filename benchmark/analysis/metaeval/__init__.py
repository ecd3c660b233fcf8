"""Meta-evaluation: how well a metric's scores agree with what is known of the sets."""
