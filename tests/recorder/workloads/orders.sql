-- One table with plain text values: inserts, updates, deletes, nulls, empty and odd strings.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
-- @run
INSERT INTO orders VALUES (1, 19.90, 'first order');
INSERT INTO orders VALUES (2, 0.10, ''), (3, -5, NULL), (4, NULL, 'no total');
UPDATE orders SET total = total + 1 WHERE id = 1;
UPDATE orders SET id = 20 WHERE id = 2;
BEGIN;
INSERT INTO orders VALUES (5, 99999999.99, 'tab	and ''quote'' and "double" and \ backslash');
INSERT INTO orders VALUES (6, 1, E'line one\nline two\r\nline three');
UPDATE orders SET note = 'changed' WHERE id IN (5, 6);
DELETE FROM orders WHERE id = 3;
COMMIT;
BEGIN;
INSERT INTO orders VALUES (7, 7, 'rolled back');
ROLLBACK;
INSERT INTO orders VALUES (8, 8.5, 'grüße, 注文, заказ, 🎉');
INSERT INTO orders VALUES (9, 'NaN', 'not a number');
DELETE FROM orders WHERE id = 20;
UPDATE orders SET note = NULL;
