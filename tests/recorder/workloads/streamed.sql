-- Large interleaved transactions in stream blocks. A `pad` value takes 1.8 kB of the decoding
-- memory but only some sixty bytes as text, so that 64 kB are reached with about 35 rows.
-- @setup
CREATE TYPE colour AS ENUM ('red', 'green');
CREATE TABLE big (id int PRIMARY KEY, pad name[] DEFAULT array_fill('x'::name, ARRAY[28]), v text);
CREATE TABLE big_full (id int, pad name[] DEFAULT array_fill('y'::name, ARRAY[28]), c colour);
ALTER TABLE big_full REPLICA IDENTITY FULL;
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
CREATE TABLE first (id int PRIMARY KEY);
CREATE TABLE second (id int PRIMARY KEY);
-- @subscriber
ALTER TABLE big ADD COLUMN extra int;
-- @run
-- @session A
BEGIN;
-- @session B
BEGIN;
-- @session A
INSERT INTO big (id, v) SELECT g, 'A' FROM generate_series(1, 20) g;
INSERT INTO orders VALUES (1, 1.50, 'inside the large transaction');
-- @session B
INSERT INTO big_full (id, c) SELECT g, 'red'::colour FROM generate_series(1, 20) g;
-- @session C
INSERT INTO orders VALUES (2, 2.50, 'small, between stream blocks');
-- @session A
SAVEPOINT s1;
INSERT INTO big (id, v) SELECT g, 'A lost' FROM generate_series(101, 140) g;
-- @session B
UPDATE big_full SET c = 'green' WHERE id <= 5;
-- @session A
SELECT pg_logical_emit_message(true, 'app', 'transactional, in a subtransaction');
ROLLBACK TO SAVEPOINT s1;
-- @session C
SELECT pg_logical_emit_message(false, 'app', 'between stream blocks');
-- @session A
SAVEPOINT s2;
INSERT INTO big (id, v) SELECT g, 'A kept' FROM generate_series(201, 230) g;
SELECT pg_logical_emit_message(true, 'app', 'transactional, in a stream');
SAVEPOINT s3;
UPDATE big SET id = id + 1000 WHERE id <= 3;
DELETE FROM big WHERE id BETWEEN 4 AND 6;
ROLLBACK TO SAVEPOINT s3;
DELETE FROM big WHERE id BETWEEN 7 AND 9;
RELEASE SAVEPOINT s2;
-- @session B
DELETE FROM big_full WHERE id > 18;
TRUNCATE first, second RESTART IDENTITY CASCADE;
INSERT INTO big_full (id, c) SELECT g, NULL::colour FROM generate_series(301, 320) g;
-- @session A
COMMIT;
-- @session B
COMMIT;
-- @session A
BEGIN;
INSERT INTO big (id, v) SELECT g, 'C' FROM generate_series(401, 440) g;
SAVEPOINT x;
INSERT INTO big (id, v) SELECT g, 'C2' FROM generate_series(501, 540) g;
-- @pause
ROLLBACK;
BEGIN;
INSERT INTO big (id, v) SELECT g, 'D' FROM generate_series(601, 625) g;
ALTER TABLE big ADD COLUMN extra int DEFAULT 5;
INSERT INTO big (id, v) SELECT g, 'D2' FROM generate_series(701, 725) g;
COMMIT;
-- @session C
INSERT INTO orders VALUES (3, 3.50, 'last');
