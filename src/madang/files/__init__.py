"""Files of people and of sessions: folders by descriptor, what can be taken back, downloads, archives."""
