-- Names and values of WIN1252 that LATIN1 does not have.
-- @setup
CREATE TABLE "prix_€" (id int PRIMARY KEY, "montant_€" text);
-- @run
INSERT INTO "prix_€" VALUES (1, '€ 5 – “œuvre” …'), (2, 'Š Ž š ž Ÿ');
UPDATE "prix_€" SET "montant_€" = 'ça coûte 10 €' WHERE id = 1;
DELETE FROM "prix_€" WHERE id = 1;
