-- Initial rows for a table synchronisation, and changes made while it runs.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
CREATE TABLE letters (k text PRIMARY KEY);
-- @initial
INSERT INTO orders SELECT g, g * 1.25, 'order ' || g FROM generate_series(1, 12) g;
INSERT INTO orders VALUES (13, NULL, NULL), (14, 0, ''), (15, 1, E'tab\there');
INSERT INTO letters VALUES ('wAAAAAAAAAAAAAAAAAAAAAAAA'), ('kAAAAAAAAAAAAAAAA'), ('row'), ('hot'), ('data');
-- @during
INSERT INTO orders VALUES (101, 101, 'while the table is copied');
UPDATE orders SET total = 2 WHERE id = 1;
DELETE FROM orders WHERE id = 2;
-- @run
INSERT INTO orders VALUES (102, 102, 'after the copy');
INSERT INTO letters VALUES ('late');
