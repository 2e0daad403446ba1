-- A large transaction with a value that LATIN1 cannot express in the middle of a stream block.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
CREATE TABLE big (id int PRIMARY KEY, pad name[] DEFAULT array_fill('x'::name, ARRAY[28]), v text);
-- @run
INSERT INTO orders VALUES (1, 1, 'before the large transaction');
BEGIN;
INSERT INTO big (id, v) SELECT g, 'fine' FROM generate_series(1, 12) g;
INSERT INTO big VALUES (13, DEFAULT, '表');
INSERT INTO big (id, v) SELECT g, 'fine' FROM generate_series(14, 40) g;
COMMIT;
INSERT INTO orders VALUES (2, 2, 'after it');
