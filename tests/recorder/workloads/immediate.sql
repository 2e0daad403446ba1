-- Small transactions for debug_logical_replication_streaming=immediate: each change its own block.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
CREATE TABLE "täble" (id int PRIMARY KEY, v text);
CREATE TABLE first (id int PRIMARY KEY);
ALTER TABLE "täble" REPLICA IDENTITY FULL;
-- @run
-- @session A
BEGIN;
INSERT INTO orders VALUES (1, 10, 'A1');
-- @session B
BEGIN;
INSERT INTO "täble" VALUES (1, 'B1 größe');
-- @session A
SAVEPOINT s1;
INSERT INTO orders VALUES (2, 20, 'A2, lost');
SAVEPOINT s2;
UPDATE orders SET note = 'A1 lost' WHERE id = 1;
-- @session B
UPDATE "täble" SET v = 'B1 表' WHERE id = 1;
-- @pause
-- @session A
ROLLBACK TO SAVEPOINT s1;
INSERT INTO orders VALUES (3, 30, 'A3');
SELECT pg_logical_emit_message(true, 'app', 'in a stream');
SELECT pg_logical_emit_message(false, 'app', 'outside of it');
-- @session B
DELETE FROM "täble";
TRUNCATE first;
-- @session A
UPDATE orders SET id = 4 WHERE id = 3;
DELETE FROM orders WHERE id = 4;
COMMIT;
-- @session B
COMMIT;
-- @session A
BEGIN;
INSERT INTO orders VALUES (5, 50, 'rolled back');
SAVEPOINT s3;
INSERT INTO orders VALUES (6, 60, 'rolled back');
-- @pause
ROLLBACK;
BEGIN;
INSERT INTO orders VALUES (7, 70, 'prepared');
PREPARE TRANSACTION 'gid immediate';
COMMIT PREPARED 'gid immediate';
BEGIN;
INSERT INTO orders VALUES (8, 80, 'prepared, given up');
PREPARE TRANSACTION 'gid 2';
ROLLBACK PREPARED 'gid 2';
BEGIN;
ALTER TABLE orders ADD COLUMN extra int;
INSERT INTO orders VALUES (9, 90, 'wider', 9);
COMMIT;
