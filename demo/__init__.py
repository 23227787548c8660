"""The first program for new users."""
