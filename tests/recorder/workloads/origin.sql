-- Transactions with a replication origin: plain, streamed, prepared.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
CREATE TABLE big (id int PRIMARY KEY, pad name[] DEFAULT array_fill('x'::name, ARRAY[28]), v text);
SELECT pg_replication_origin_create('node_1');
-- @run
INSERT INTO orders VALUES (1, 1, 'local');
SELECT pg_replication_origin_session_setup('node_1');
BEGIN;
SELECT pg_replication_origin_xact_setup('1/2345678', '2020-01-02 03:04:05.678+00');
INSERT INTO orders VALUES (2, 2, 'from node_1');
COMMIT;
BEGIN;
SELECT pg_replication_origin_xact_setup('1/2345680', '2020-01-02 03:04:06+00');
INSERT INTO big (id, v) SELECT g, 'large' FROM generate_series(1, 40) g;
INSERT INTO big (id, v) SELECT g, 'more' FROM generate_series(101, 130) g;
COMMIT;
BEGIN;
SELECT pg_replication_origin_xact_setup('1/2345690', '2020-01-02 03:04:07+00');
INSERT INTO orders VALUES (3, 3, 'prepared elsewhere');
PREPARE TRANSACTION 'gid origin';
COMMIT PREPARED 'gid origin';
SELECT pg_replication_origin_session_reset();
INSERT INTO orders VALUES (4, 4, 'local again');
