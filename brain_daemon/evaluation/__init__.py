"""How well recall finds what it should: public collections through the real engine."""
