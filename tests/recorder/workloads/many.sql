-- Several hundred tiny messages.
-- @setup
CREATE TABLE t (id int PRIMARY KEY);
-- @run
INSERT INTO t SELECT generate_series(1, 560);
DELETE FROM t WHERE id <= 30;
INSERT INTO t VALUES (1001);
INSERT INTO t VALUES (1002);
