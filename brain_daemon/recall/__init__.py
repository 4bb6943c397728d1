"""From a query to its ranked, explained hits, on the resident index."""
