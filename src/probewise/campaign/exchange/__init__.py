"""What passes between a campaign and its laboratory: sheets out, rows in."""
