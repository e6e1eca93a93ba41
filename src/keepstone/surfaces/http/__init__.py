"""What every HTTP surface shares: the guards in front, the error table, the caller, the wire types."""
