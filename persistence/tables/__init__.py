"""Tables: declarations and standing conditions without logic. `complete` loads all of them; who needs few loads few."""
