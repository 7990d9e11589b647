-- An order that was placed by SQL may name a price with more digits than an amount of the API has: the views that write
-- it in reais, and the export of its person's data, then ended with an error. Orders that are there are not looked
-- through; each is checked when it changes.
ALTER TABLE orders
    ADD CONSTRAINT order_amount_has_at_most_13_digits_of_reais CHECK (amount_centavos < 1000000000000000) NOT VALID;
