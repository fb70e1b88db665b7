-- A time as clients read it. An infinite one, which marks a wrapper that was to be sent again at once, counts as none.
create function iso_time(the_time timestamptz) returns text language sql stable strict as $$
  select to_char(the_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') where isfinite(the_time)
$$;
