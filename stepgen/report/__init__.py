"""Reports: tables, timelines, summaries."""
