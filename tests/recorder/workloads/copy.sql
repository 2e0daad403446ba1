-- Rows for ordinary COPY. In text form each is one CopyData with a newline at its end: the first
-- ones have the first byte and the exact length of a replication message.
-- @setup
CREATE TABLE cp (n serial PRIMARY KEY, v text);
CREATE TABLE cp_in (v text);
CREATE TABLE cp_bytes (b bytea);
INSERT INTO cp (v) VALUES ('wAAAAAAAABBBBBBBBCCCCCCCCBDDDDDDDDEEEEEEEEFFF'), ('kAAAAAAAABBBBBBBB'), ('rAAAAAAAABBBBBBBBCCCCCCCCDDDDDDDD'), ('hAAAAAAAABBBBCCCCDDDDEEE'), ('d'), ('w'), ('k'), ('r'), ('h'), ('p'), ('s'), ('n'), ('m'), ('wal'), ('keepalive'), ('row'), ('hot'), ('data'), (''), (NULL), (E'k\twith tab'), ('größe 表');
