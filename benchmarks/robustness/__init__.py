"""What kills and bad input do."""
