-- PostgreSQL plans the statements again after each vacuum. Where a vacuum leaves few rows, any index with a plain column of the
-- condition seems as cheap as any other: a look-up in a lane, by chain and waiver, then read the entries of all senders, with
-- the dead ones that an open transaction keeps. No condition fits this expression, so that only look-ups of a sender choose
-- this index. The table has few rows, so that writes wait for some milliseconds.
-- D18, D20: one submission per sender and nonce.
create unique index if not exists unfinished_of_sender on unfinished (sender, sender_nonce, (chain + 0));

-- then
drop index if exists unfinished_by_sender;
