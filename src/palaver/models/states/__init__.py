"""What models of hidden states share: engine, priors, emissions, tags."""
