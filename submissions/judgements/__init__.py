"""What people say of response sets: votes on pairs, each exactly once in a store; rating forms out, ratings back in."""
