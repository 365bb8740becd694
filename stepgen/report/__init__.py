"""What people look at: tables, timelines, summaries."""
