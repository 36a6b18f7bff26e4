"""What is believed: estimators and their confidence sets."""
