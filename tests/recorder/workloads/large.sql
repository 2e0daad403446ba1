-- A few rows, among them one larger than a TLS record.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
-- @run
INSERT INTO orders VALUES (1, 19.90, 'first order');
INSERT INTO orders SELECT g, g * 1.25, 'order ' || g FROM generate_series(2, 30) g;
INSERT INTO orders VALUES (31, 1, repeat('0123456789', 2000));
UPDATE orders SET total = 0 WHERE id < 4;
DELETE FROM orders WHERE id = 3;
