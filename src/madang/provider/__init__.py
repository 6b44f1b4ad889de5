"""The one door to the services."""
