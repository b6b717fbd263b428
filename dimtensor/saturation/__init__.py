"""Rewriting by cost: a bounded equality saturation on the dims graph; PyTensor is not asked."""
