"""What the models of words in messages share: M4, the block HMM, LDA."""
