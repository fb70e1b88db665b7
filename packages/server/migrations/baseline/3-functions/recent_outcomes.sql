-- The lowest id of the days that are not summarized. The planner reads only their partitions where a query asks for ids from this
-- one on. It is declared immutable for that, and is replaced when a day has been summarized (set_recent_outcomes): it only ever
-- goes up, so a plan with an earlier value reads more than it must, and misses nothing.
create function recent_outcomes() returns uuid language sql immutable parallel safe as $$
  select '00000000-0000-0000-0000-000000000000'::uuid
$$;

create function set_recent_outcomes(first_id uuid) returns void language plpgsql as $$
begin
  execute format('create or replace function recent_outcomes() returns uuid language sql immutable parallel safe as %L',
                 format('select %L::uuid', first_id));
end $$;
