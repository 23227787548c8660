"""`pgsluice.load` and `aload`: what Python has goes in as COPY has it, or is an exception."""
