-- Refused lines, for those who look up their ids within a day. The id of a line begins with its time, and the day of that time
-- (UTC), counted from 1970 and divided by 3, gives a remainder: the number of its table. So yesterday's, today's and
-- tomorrow's lines are in three tables, and an old day leaves by truncating one, without dead rows and without a vacuum.
-- The tables are unlogged: a flood of refusals writes no WAL, and a crash of the database empties them.
create unlogged table refusals_0 (
  id     uuid primary key,
  -- The API key that sent the line.
  key_id text not null,
  -- The record as clients read it.
  record json not null
);

create unlogged table refusals_1 (id uuid primary key, key_id text not null, record json not null);

create unlogged table refusals_2 (id uuid primary key, key_id text not null, record json not null);
