"""Key material that is made by `cryptography`: what a server shows, and how pods trust one another."""
