"""`divbench generate`: sample a model for every prompt of a suite; resumable; what comes out is a submission."""
