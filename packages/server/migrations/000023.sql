-- No unfinished submission of the lane has a waiver nonce below this one. Whatever reads the nonces of a lane begins here: below
-- may be the dead entries of all that the lane has finished since the oldest transaction in the database began. Versions
-- that do not know the column leave it, and give no nonce that is so far below the chain's.
alter table lanes add column nonce_floor bigint not null default 0;
