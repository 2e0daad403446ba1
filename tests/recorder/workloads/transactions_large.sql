-- Large transactions that a server streams when its memory is full. A `pad` value takes 1.8 kB of the decoding
-- memory but only some sixty bytes as text; 64 kB are 35 rows. What is rolled back is larger than that by itself.
-- @setup
CREATE TABLE big (id int PRIMARY KEY, pad name[] DEFAULT array_fill('x'::name, ARRAY[28]), v text);
CREATE TABLE wide (id int PRIMARY KEY, pad name[] DEFAULT array_fill('y'::name, ARRAY[28]), v text);
CREATE TABLE t (id int PRIMARY KEY, v text);
-- @run
-- @session A
BEGIN;
-- @changes public.big insert 20
INSERT INTO big (id, v) SELECT g, 'A' FROM generate_series(1, 20) g;
-- @session B
BEGIN;
-- @changes public.wide insert 20
INSERT INTO wide (id, v) SELECT g, 'B' FROM generate_series(1, 20) g;
-- @session C
-- @changes public.t insert 2
INSERT INTO t VALUES (1, 'small'), (2, 'between the blocks');
-- @session A
SAVEPOINT s1;
-- @changes public.big insert 50
INSERT INTO big (id, v) SELECT g, 'A lost' FROM generate_series(101, 150) g;
-- @session B
-- @changes public.wide update 5
UPDATE wide SET v = 'B2' WHERE id <= 5;
-- @session A
ROLLBACK TO SAVEPOINT s1;
SELECT pg_logical_emit_message(true, 'app', 'A, part of it');
-- @changes public.t insert 1
INSERT INTO t VALUES (3, 'A');
-- @session B
SAVEPOINT s2;
-- @changes public.wide insert 15
INSERT INTO wide (id, v) SELECT g, 'B kept' FROM generate_series(201, 215) g;
RELEASE SAVEPOINT s2;
-- @session A
SAVEPOINT s3;
-- @changes public.big insert 30
INSERT INTO big (id, v) SELECT g, 'A kept' FROM generate_series(201, 230) g;
SAVEPOINT s4;
-- @changes public.wide insert 50
INSERT INTO wide (id, v) SELECT g, 'A lost' FROM generate_series(301, 350) g;
ROLLBACK TO SAVEPOINT s3;
-- @changes public.big delete 3
DELETE FROM big WHERE id <= 3;
-- @session C
SELECT pg_logical_emit_message(false, 'app', 'between the blocks');
-- @changes public.t update 2
UPDATE t SET v = 'small again' WHERE id < 3;
-- @session B
-- @changes public.wide delete 10
DELETE FROM wide WHERE id > 205;
COMMIT;
-- @session A
COMMIT;
BEGIN;
-- @changes public.big insert 45
INSERT INTO big (id, v) SELECT g, 'given up' FROM generate_series(401, 445) g;
SAVEPOINT s5;
-- @changes public.wide insert 45
INSERT INTO wide (id, v) SELECT g, 'given up' FROM generate_series(401, 445) g;
ROLLBACK;
BEGIN;
-- @changes public.big insert 40
INSERT INTO big (id, v) SELECT g, 'C' FROM generate_series(501, 540) g;
-- @changes public.t truncate 1
TRUNCATE t;
COMMIT;
-- @changes public.t insert 1
INSERT INTO t VALUES (4, 'last');
