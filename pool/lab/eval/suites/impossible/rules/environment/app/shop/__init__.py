"""What an order costs to send."""
