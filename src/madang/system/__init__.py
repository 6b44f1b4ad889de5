"""What the operating system lends: child processes, their confinement, locks, memory and the clock."""
