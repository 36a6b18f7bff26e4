"""The paper's figures, with the published curves laid over ours, and what they decide."""
