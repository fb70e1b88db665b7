-- The highest nonce of a waiver in a final block; null without one. It is volatile: a stable function would read by the snapshot of
-- its caller, which may be older than the day that its plan leaves out.
create function highest_final_nonce(the_chain integer, the_waiver bytea) returns bigint language plpgsql as $$
begin
  return greatest(
    (select f.waiver_nonce from finished f
     where f.chain = the_chain and f.waiver = the_waiver and f.waiver_nonce is not null and f.id >= recent_outcomes()
     order by f.waiver_nonce desc limit 1),
    (select l.old_nonce from lanes l where l.chain = the_chain and l.waiver = the_waiver));
end $$;
