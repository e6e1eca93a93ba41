"""Thin skins: parse, call one operation, render. None imports another, and none decides anything."""
