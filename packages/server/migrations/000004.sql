-- The list of a key's submissions. Ids grow with time, so this one is written at its ends.
create index finished_by_key on finished (chain, key_id, state, id);
-- By the InnerTx's hash: one row, if any, in entries of a few bytes.
create index finished_by_inner on finished using hash (inner_hash) where state = 'included';
-- What is in a block is also found by its sender's nonce; what failed has no right to one.
create index finished_failed_by_inner on finished (chain, key_id, inner_hash, id) where state = 'failed';
create index finished_failed_by_sender on finished (chain, key_id, sender, id) where state = 'failed';
