"""The pages Keepstone serves itself: login, start, API reference. Plain HTML that works without script or network."""
