"""Who may do what: the rules of a policy file, matched to what the kernel says of a peer."""
