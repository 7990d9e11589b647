"""Measures the server, compares it with others, and writes the reports bench/*.md. Started by the scripts of ./dev."""
