"""The latency scenario on vocabularies of four sizes."""
