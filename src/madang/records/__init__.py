"""What Madang keeps: sessions, pauses, runs, events, operations, audit and assistants."""
