"""`pgsluice.load` and `aload`: Python's data is stored as COPY stores it, or raises."""
