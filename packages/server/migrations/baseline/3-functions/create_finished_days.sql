-- Makes the partitions that are missing up to today and some days ahead. Days that are over, in which no service ran, share one.
-- A copy of the rows, as logical replication makes it, lacks the partitions that were made meanwhile: these are made too.
-- Returns the number of partitions that it made.
create function create_finished_days(days_ahead integer) returns integer language plpgsql as $$
declare
  today date := (now() at time zone 'UTC')::date;
  next  date := (select day_of(end_id) from finished_range);
  made  integer := 0;
  day   finished_days;
begin
  for day in select * from finished_days where closed_at is null and to_regclass(partition) is null order by first_id loop
    perform attach_finished_partition(day.partition, day.first_id, day.end_id);
    made := made + 1;
  end loop;
  if next < today then
    perform create_finished_partition(next, today - 1);
    next := today;
    made := made + 1;
  end if;
  while next <= today + days_ahead loop
    perform create_finished_partition(next, next);
    next := next + 1;
    made := made + 1;
  end loop;
  return made;
end $$;
