"""What a newcomer runs first."""
