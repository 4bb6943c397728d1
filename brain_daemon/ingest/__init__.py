"""From a text or Markdown to the prepared document that the store takes: no store, no index."""
