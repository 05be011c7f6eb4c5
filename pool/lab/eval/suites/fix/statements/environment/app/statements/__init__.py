"""What customers get on paper: invoices, reminders, receipts, and a ledger of all of them."""
