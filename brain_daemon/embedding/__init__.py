"""Text to unit vectors with static embedding models; the default model is packaged here."""
