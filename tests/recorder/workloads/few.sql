-- A few rows, for captures about the framing and about physical replication.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
-- @run
INSERT INTO orders VALUES (1, 19.90, 'first order');
INSERT INTO orders SELECT g, g * 1.25, 'order ' || g FROM generate_series(2, 9) g;
UPDATE orders SET total = 0 WHERE id = 1;
UPDATE orders SET id = 100 WHERE id = 2;
DELETE FROM orders WHERE id = 3;
