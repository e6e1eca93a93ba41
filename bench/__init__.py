"""Figures for `make bench`: each one beside a baseline of the same run, because machines are shared and noisy."""
