"""Studies how well metrics agree with people, labels and each other: in come labelled sets, out goes a study."""
