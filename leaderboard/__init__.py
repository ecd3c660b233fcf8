"""Show results: tables from results, the application that people browse, and files for everything else."""
