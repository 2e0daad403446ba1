-- Prepared transactions, committed and rolled back, other transactions between; what each statement changes is declared.
-- @setup
CREATE TABLE t (id int PRIMARY KEY, v text);
CREATE TABLE u (id int PRIMARY KEY, v text);
CREATE TABLE gone (id int PRIMARY KEY);
-- @run
-- Both tables are known before: asked afterwards, a server may give up a prepared transaction that was rolled back
-- when it has to look into the catalog for it.
-- @changes public.t insert 1
INSERT INTO t VALUES (100, 'first of all');
-- @changes public.u insert 1
INSERT INTO u VALUES (100, 'first of all');
-- @session A
BEGIN;
-- @changes public.t insert 2
INSERT INTO t VALUES (1, 'A'), (2, 'A');
-- @session B
BEGIN;
-- @changes public.u insert 1
INSERT INTO u VALUES (1, 'B');
-- @session A
-- @changes public.t update 1
UPDATE t SET v = 'A2' WHERE id = 2;
PREPARE TRANSACTION 'gid one';
-- @pause
-- @session C
-- @changes public.t insert 1
INSERT INTO t VALUES (10, 'between prepare and commit');
-- @session B
SAVEPOINT s1;
-- @changes public.u insert 3
INSERT INTO u VALUES (2, 'B lost'), (3, 'B lost'), (4, 'B lost');
ROLLBACK TO SAVEPOINT s1;
-- @changes public.u insert 1
INSERT INTO u VALUES (5, 'B kept');
SELECT pg_logical_emit_message(true, 'app', 'B, part of it');
PREPARE TRANSACTION 'gid zwei ü';
-- @session A
COMMIT PREPARED 'gid one';
-- @pause
BEGIN;
-- @changes public.t delete 1
DELETE FROM t WHERE id = 10;
PREPARE TRANSACTION 'gid three';
-- @pause
-- @session B
ROLLBACK PREPARED 'gid zwei ü';
-- @session C
BEGIN;
-- @changes public.u insert 2
INSERT INTO u VALUES (6, 'plain'), (7, 'plain');
COMMIT;
ROLLBACK PREPARED 'gid three';
-- @pause
-- @session A
BEGIN;
-- @changes public.t update 2
UPDATE t SET v = 'A3' WHERE id < 3;
-- @changes public.gone truncate 1
TRUNCATE gone;
PREPARE TRANSACTION 'gid one';
COMMIT PREPARED 'gid one';
BEGIN;
SELECT pg_logical_emit_message(true, 'app', 'prepared alone');
PREPARE TRANSACTION 'never finished';
-- @pause
