-- A SQL_ASCII database: whatever bytes come are kept and sent. UTF-8 names and values, LATIN1 bytes among them.
-- @setup
CREATE TABLE bytes (id int PRIMARY KEY, "größe" text);
-- @run
INSERT INTO bytes VALUES (1, 'grüße');
INSERT INTO bytes VALUES (2, E'gr\xfc\xdfe');
UPDATE bytes SET "größe" = E'\xff' WHERE id = 1;
