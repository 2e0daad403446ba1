-- Prepared transactions, small and large, committed and rolled back.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
CREATE TABLE big (id int PRIMARY KEY, pad name[] DEFAULT array_fill('x'::name, ARRAY[28]), v text);
CREATE TABLE first (id int PRIMARY KEY);
-- @run
BEGIN;
INSERT INTO orders VALUES (1, 1, 'prepared'), (2, 2, 'prepared');
UPDATE orders SET total = 3 WHERE id = 2;
PREPARE TRANSACTION 'gid one';
-- @session B
INSERT INTO orders VALUES (10, 10, 'between prepare and commit');
-- @session main
COMMIT PREPARED 'gid one';
BEGIN;
INSERT INTO orders VALUES (3, 3, 'given up');
PREPARE TRANSACTION 'gid zwei ü';
-- @pause
ROLLBACK PREPARED 'gid zwei ü';
BEGIN;
INSERT INTO big (id, v) SELECT g, 'large' FROM generate_series(1, 45) g;
SAVEPOINT s;
INSERT INTO big (id, v) SELECT g, 'lost' FROM generate_series(101, 104) g;
ROLLBACK TO SAVEPOINT s;
PREPARE TRANSACTION 'gid large';
-- @pause
COMMIT PREPARED 'gid large';
BEGIN;
INSERT INTO big (id, v) SELECT g, 'large, given up' FROM generate_series(201, 240) g;
PREPARE TRANSACTION 'gid large 2';
-- @pause
ROLLBACK PREPARED 'gid large 2';
BEGIN;
DELETE FROM orders WHERE id = 1;
TRUNCATE first;
PREPARE TRANSACTION 'gid three';
-- @session B
BEGIN;
INSERT INTO orders VALUES (11, 11, 'a second prepared one');
PREPARE TRANSACTION 'gid four';
COMMIT PREPARED 'gid four';
-- @session main
COMMIT PREPARED 'gid three';
INSERT INTO orders VALUES (12, 12, 'plain');
