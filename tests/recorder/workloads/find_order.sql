-- Two tables with the same ids: what happened to order 42?
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
CREATE TABLE invoices (id int PRIMARY KEY, order_id int, total numeric(10,2));
ALTER TABLE invoices REPLICA IDENTITY FULL;
-- @run
INSERT INTO orders VALUES (41, 9.90, 'before'), (42, 19.90, NULL), (142, 42, 'id=42');
INSERT INTO invoices VALUES (42, 41, 9.90), (43, 42, 19.90);
UPDATE orders SET note = 'paid' WHERE id = 42;
UPDATE orders SET note = 'paid' WHERE id = 41;
BEGIN;
UPDATE invoices SET total = 0 WHERE id = 42;
UPDATE orders SET total = 21.50, note = '' WHERE id = 42;
DELETE FROM orders WHERE id = 142;
COMMIT;
UPDATE orders SET id = 420 WHERE id = 42;
DELETE FROM orders WHERE id = 41;
