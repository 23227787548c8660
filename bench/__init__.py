"""Programs that measure pgsluice beside its peers, and their records."""
