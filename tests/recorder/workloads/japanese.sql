-- Names and values that a Japanese client gets converted, to SJIS and to EUC_JP alike.
-- @setup
CREATE TABLE "注文" (id int PRIMARY KEY, "品名" text, "ｶﾅ" text);
-- @run
INSERT INTO "注文" VALUES (1, '表示ソフト能力', 'ｱｲｳ'), (2, '\ ~ and ascii', NULL);
UPDATE "注文" SET "品名" = '十' WHERE id = 1;
DELETE FROM "注文" WHERE id = 2;
