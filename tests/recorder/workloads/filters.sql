-- Column lists, row filters, partitions and generated columns of a publication.
-- @setup
CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text, secret text);
CREATE TABLE filtered (id int PRIMARY KEY, v int);
ALTER TABLE filtered REPLICA IDENTITY FULL;
CREATE TABLE parts (id int, v text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (100) TO (200);
CREATE TABLE gen (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED);
CREATE PUBLICATION pub FOR TABLE orders (id, note), filtered WHERE (v > 10), parts, gen WITH (publish_via_partition_root = true);
-- @since 18
ALTER PUBLICATION pub SET (publish_generated_columns = stored);
-- @run
INSERT INTO orders VALUES (1, 1.5, 'listed', 'hidden');
UPDATE orders SET secret = 'still hidden';
INSERT INTO filtered VALUES (1, 5), (2, 50);
UPDATE filtered SET v = 20 WHERE id = 1;
UPDATE filtered SET v = 1 WHERE id = 2;
UPDATE filtered SET v = 21 WHERE id = 1;
DELETE FROM filtered WHERE id = 1;
INSERT INTO parts VALUES (1, 'low'), (150, 'high');
UPDATE parts SET id = 151 WHERE id = 1;
INSERT INTO gen VALUES (21);
TRUNCATE parts;
