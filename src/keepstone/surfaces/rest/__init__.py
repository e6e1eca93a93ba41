"""The REST surface under `/v1` and `/auth`, and the health routes."""
