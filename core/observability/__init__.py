"""What the operator sees: logs, metrics, correlation."""
