-- Transactions of every kind, small, in two sessions and more; what each statement changes is declared.
-- @setup
CREATE TABLE t (id int PRIMARY KEY, v text);
CREATE TABLE u (id int, v text);
ALTER TABLE u REPLICA IDENTITY FULL;
CREATE TABLE gone (id int PRIMARY KEY);
CREATE TABLE gone_too (id int PRIMARY KEY);
SELECT pg_replication_origin_create('node_1');
-- @run
-- @changes public.t insert 3
INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
-- @pause
-- @session A
BEGIN;
-- @changes public.t insert 2
INSERT INTO t VALUES (10, 'A'), (11, 'A');
-- @session B
BEGIN;
-- @changes public.u insert 3
INSERT INTO u SELECT g, 'B' FROM generate_series(1, 3) g;
-- @session A
SAVEPOINT s1;
-- @changes public.t insert 2
INSERT INTO t VALUES (12, 'A lost'), (13, 'A lost');
-- @session B
-- @changes public.u update 2
UPDATE u SET v = 'B2' WHERE id < 3;
-- @session A
SAVEPOINT s2;
-- @changes public.t update 3
UPDATE t SET v = 'A lost' WHERE id >= 10 AND id < 13;
SELECT pg_logical_emit_message(false, 'app', 'A, outside of it');
-- @session C
-- @changes public.t delete 1
DELETE FROM t WHERE id = 3;
-- @session A
ROLLBACK TO SAVEPOINT s1;
-- @changes public.t insert 1
INSERT INTO t VALUES (14, 'A kept');
SAVEPOINT s3;
-- @changes public.t update 1
UPDATE t SET v = 'A kept too' WHERE id = 14;
RELEASE SAVEPOINT s3;
-- @changes public.t delete 1
DELETE FROM t WHERE id = 10;
RELEASE SAVEPOINT s1;
SELECT pg_logical_emit_message(true, 'app', 'A, part of it');
-- @pause
-- @session B
-- @changes public.gone truncate 1 public.gone_too truncate 1
TRUNCATE gone, gone_too;
-- @changes public.u delete 1
DELETE FROM u WHERE id = 2;
SAVEPOINT b1;
-- @changes public.u delete 2
DELETE FROM u;
ROLLBACK TO SAVEPOINT b1;
-- @changes public.u insert 1
INSERT INTO u VALUES (4, 'B after it');
-- @session A
COMMIT;
-- @session B
COMMIT;
-- @pause
-- @session A
BEGIN;
-- @changes public.t insert 2
INSERT INTO t VALUES (20, 'rolled back'), (21, 'rolled back');
-- @changes public.u insert 1
INSERT INTO u VALUES (20, 'rolled back');
SAVEPOINT s4;
-- @changes public.t delete 1
DELETE FROM t WHERE id = 20;
SELECT pg_logical_emit_message(false, 'app', 'outlives the rollback');
-- @pause
ROLLBACK;
BEGIN;
SELECT pg_logical_emit_message(true, 'app', 'alone in its transaction');
COMMIT;
SELECT pg_logical_emit_message(true, 'app', 'a statement of its own');
SELECT pg_logical_emit_message(false, 'app', 'in no transaction');
-- @pause
SELECT pg_replication_origin_session_setup('node_1');
BEGIN;
SELECT pg_replication_origin_xact_setup('1/2345678', '2020-01-02 03:04:05.678+00');
-- @changes public.t insert 1
INSERT INTO t VALUES (30, 'from node_1');
-- @changes public.u insert 1
INSERT INTO u VALUES (30, 'from node_1');
COMMIT;
SELECT pg_replication_origin_session_reset();
-- @changes public.t update 0
UPDATE t SET v = 'nothing' WHERE id = 99;
-- @changes public.t delete 5
DELETE FROM t;
-- @pause
