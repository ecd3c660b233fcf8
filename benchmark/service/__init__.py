"""The service's side of the queue: `divbench worker` scores what was handed in, `divbench rescore` scores it again."""
