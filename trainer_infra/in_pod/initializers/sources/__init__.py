"""One file for each scheme, and what several of them share: object stores, and byte ranges over HTTP."""
