"""Designs on boards, real or simulated: the link to them, and what a host does with it."""
