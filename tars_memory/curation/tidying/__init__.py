"""What is twice, empty, dead or past; and the archive of old days."""
