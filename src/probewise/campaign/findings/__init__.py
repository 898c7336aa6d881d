"""What can be said of a campaign now: estimates, intervals, its status, what it will take and what changed."""
