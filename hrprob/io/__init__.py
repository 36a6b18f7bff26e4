"""Ways in and out: configurations, result folders, tables and HTML pages."""
