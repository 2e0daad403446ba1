-- DDL in mid-stream: the relation is described again before the next change of the table.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);
CREATE TYPE mood AS ENUM ('sad', 'happy');
-- @run
INSERT INTO orders VALUES (1, 1.5, 'three columns');
ALTER TABLE orders ADD COLUMN extra int DEFAULT 7;
INSERT INTO orders VALUES (2, 2.5, 'four columns', 2);
ALTER TABLE orders DROP COLUMN note;
INSERT INTO orders VALUES (3, 3.5, 3);
ALTER TABLE orders RENAME COLUMN total TO sum;
INSERT INTO orders VALUES (4, 4.5, 4);
ALTER TABLE orders ALTER COLUMN extra TYPE text USING extra::text || ' as text';
UPDATE orders SET sum = 0 WHERE id = 1;
ALTER TABLE orders RENAME TO purchases;
INSERT INTO purchases VALUES (5, 5.5, 'renamed');
ALTER TABLE purchases REPLICA IDENTITY FULL;
UPDATE purchases SET sum = 1 WHERE id = 1;
BEGIN;
INSERT INTO purchases VALUES (6, 6.5, 'before');
ALTER TABLE purchases ADD COLUMN m mood;
INSERT INTO purchases VALUES (7, 7.5, 'after', 'happy');
ALTER TABLE purchases DROP COLUMN extra;
UPDATE purchases SET m = 'sad' WHERE id = 7;
COMMIT;
CREATE TABLE orders (id bigint PRIMARY KEY, note text);
INSERT INTO orders VALUES (1, 'another table of the old name');
ALTER TYPE mood RENAME TO state;
ALTER TABLE purchases ALTER COLUMN id TYPE bigint;
DELETE FROM purchases WHERE id = 7;
DROP TABLE orders;
INSERT INTO purchases VALUES (8, 8.5, 'happy');
