"""What a chart is: its data, what it refuses, its statistics and its table. Pure."""
