"""Long generations and deep nesting."""
