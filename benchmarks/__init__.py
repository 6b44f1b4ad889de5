"""How fast Madang is, as ratios to a floor measured in the same run. `make bench`; see `__main__`."""
