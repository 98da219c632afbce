"""What the models of hidden states share: the infinite HMM, the Gaussian HMM."""
