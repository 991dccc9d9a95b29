"""Fine-tuning a classifier of handwritten digits with Kauldron."""
