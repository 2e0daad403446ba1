-- Transactions that are prepared while a first client is there and finished when it has gone.
-- @setup
CREATE TABLE t (id int PRIMARY KEY, v text);
CREATE TABLE u (id int PRIMARY KEY, v text);
-- @run
-- @changes public.t insert 1
INSERT INTO t VALUES (1, 'before');
BEGIN;
-- @changes public.t insert 2
INSERT INTO t VALUES (2, 'first'), (3, 'first');
-- @changes public.u insert 1
INSERT INTO u VALUES (2, 'first');
PREPARE TRANSACTION 'first';
BEGIN;
-- @changes public.u insert 3
INSERT INTO u VALUES (3, 'second'), (4, 'second'), (5, 'second');
PREPARE TRANSACTION 'second';
-- @pause
BEGIN;
-- @changes public.u insert 1
INSERT INTO u VALUES (6, 'third');
PREPARE TRANSACTION 'third';
BEGIN;
-- @changes public.u insert 2
INSERT INTO u VALUES (7, 'never finished'), (8, 'never finished');
PREPARE TRANSACTION 'never finished';
-- @pause
-- @between
COMMIT PREPARED 'first';
-- @changes public.t update 1
UPDATE t SET v = 'nobody is there' WHERE id = 1;
ROLLBACK PREPARED 'second';
-- @later
-- @changes public.t delete 1
DELETE FROM t WHERE id = 1;
-- @pause
COMMIT PREPARED 'third';
BEGIN;
-- @changes public.t insert 1
INSERT INTO t VALUES (9, 'the same name again');
PREPARE TRANSACTION 'first';
-- @pause
COMMIT PREPARED 'first';
