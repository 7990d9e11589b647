"""What ./dev ha plays: a merchant's site of ten machines, broken one way after the other while people pay."""
