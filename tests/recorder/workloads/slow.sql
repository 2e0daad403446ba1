-- A few transactions with a pause behind each, at which the client reports.
-- @setup
CREATE TABLE t (id int PRIMARY KEY, v text);
-- @run
-- @changes public.t insert 3
INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
-- @pause
-- @changes public.t insert 5
INSERT INTO t SELECT g, 'more' FROM generate_series(11, 15) g;
-- @pause
-- @changes public.t update 3
UPDATE t SET v = 'again' WHERE id < 10;
-- @pause
BEGIN;
-- @changes public.t insert 10
INSERT INTO t SELECT g, repeat('long', 20) FROM generate_series(101, 110) g;
-- @changes public.t delete 5
DELETE FROM t WHERE id BETWEEN 11 AND 15;
COMMIT;
-- @pause
-- @changes public.t insert 1
INSERT INTO t VALUES (4, 'four');
-- @pause
-- @changes public.t delete 1
DELETE FROM t WHERE id = 4;
-- @pause
-- @changes public.t insert 2
INSERT INTO t VALUES (5, 'five'), (6, 'six');
-- @pause
-- @changes public.t update 5
UPDATE t SET v = 'last' WHERE id < 10;
-- @pause
