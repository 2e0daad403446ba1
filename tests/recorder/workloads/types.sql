-- Values of many types, for the binary option.
-- @setup
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN short AS varchar(8);
CREATE TYPE pair AS (x int, y text);
CREATE TABLE numbers (id int PRIMARY KEY, i2 int2, i8 int8, f4 float4, f8 float8, n numeric, m money, o oid);
CREATE TABLE strings (id int PRIMARY KEY, t text, v varchar(10), c char(4), n name, b bytea, q "char", s short);
CREATE TABLE times (id int PRIMARY KEY, d date, t time, tz timetz, ts timestamp, tstz timestamptz, iv interval);
CREATE TABLE things (id int PRIMARY KEY, bo bool, u uuid, j json, jb jsonb, ip inet, ci cidr, mac macaddr, bi bit(5), vb varbit, p point, r int4range, l pg_lsn, x xid, a int[], ta text[], m mood, ma mood[], pr pair, acl aclitem);
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
ALTER TABLE orders REPLICA IDENTITY FULL;
-- @run
INSERT INTO numbers VALUES (1, -32768, 9223372036854775807, 1.5, -0.1, 12345678901234567890.0123456789, '12.34', 4294967295);
INSERT INTO numbers VALUES (2, 0, -9223372036854775808, 'NaN', 'Infinity', 'NaN', '-0.01', 0);
INSERT INTO numbers VALUES (3, 1, 1, '-Infinity', 1e-300, -0.00001, NULL, 1), (4, NULL, NULL, NULL, NULL, 10000, NULL, NULL), (5, NULL, NULL, NULL, NULL, 0, NULL, NULL);
INSERT INTO strings VALUES (1, 'text ü 表 😀', 'varchar', 'c', 'name', '\x00ff', 'q', 'short');
INSERT INTO strings VALUES (2, '', '', '', '', '', '', '');
INSERT INTO times VALUES (1, '2024-02-29', '12:34:56.789', '12:34:56+05:30', '1999-12-31 23:59:59.999999', '2000-01-01 00:00:00+00', '1 year 2 mons 3 days 04:05:06.7');
INSERT INTO times VALUES (2, 'infinity', '00:00', '00:00-12', '-infinity', 'infinity', '-1 day');
INSERT INTO times VALUES (3, '4713-01-01 BC', '24:00', '24:00:00+00', '0001-01-01', '1969-12-31 23:59:59+00', '0');
INSERT INTO things VALUES (1, true, '00112233-4455-6677-8899-aabbccddeeff', '{"a": 1}', '{"b": [true, null]}', '192.168.1.10/24', '10.0.0.0/8', '08:00:2b:01:02:03', B'10110', B'101', '(1.5,-2)', '[3,7)', '16/B374D848', '42', '{1,NULL,3}', '{"a","b c",NULL}', 'ok', '{sad,happy}', ROW(1, 'why'), 'postgres=r/postgres');
INSERT INTO things VALUES (2, false, NULL, 'null', '"s"', '::1', 'fe80::/10', NULL, NULL, B'', NULL, 'empty', '0/0', NULL, '{}', '{{a,b},{c,d}}', NULL, '{}', ROW(NULL, NULL), NULL);
INSERT INTO orders VALUES (1, 19.90, 'binary'), (2, NULL, '');
UPDATE orders SET total = -0.05 WHERE id = 1;
DELETE FROM orders WHERE id = 2;
