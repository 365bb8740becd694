"""Import of PyTorch modules: blocks recognised by their numbers, and the rest by torch.export."""
