-- Names and values that a LATIN1 connection gets converted.
-- @setup
CREATE TABLE "täble" (id int PRIMARY KEY, "größe" text);
-- @run
INSERT INTO "täble" VALUES (1, 'grüße'), (2, 'ÿ and ¡');
SELECT pg_logical_emit_message(true, 'prä', 'inhält');
UPDATE "täble" SET "größe" = 'ça va' WHERE id = 1;
DELETE FROM "täble" WHERE id = 2;
