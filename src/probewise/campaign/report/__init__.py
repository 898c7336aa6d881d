"""The report: one page of HTML with the decision, the evidence and every record."""
