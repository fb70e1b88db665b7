-- Lists a key's submissions. Ids grow with time, so new rows go to the ends of this index.
create index finished_by_key on finished (chain, key_id, state, id);
-- Finds the row of an InnerTx's hash. A hash index has entries of a few bytes.
create index finished_by_inner on finished using hash (inner_hash) where state = 'included';
-- Included submissions are also found by their sender's nonce; failed ones hold none.
create index finished_failed_by_inner on finished (chain, key_id, inner_hash, id) where state = 'failed';
create index finished_failed_by_sender on finished (chain, key_id, sender, id) where state = 'failed';
