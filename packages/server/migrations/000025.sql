-- Raises the floor of a lane to below its lowest nonce. The row of the lane is locked first: a submission that is being signed
-- meanwhile has its nonce below only after the lock, and the statement behind the lock sees it.
create function raise_nonce_floor(the_chain integer, the_waiver bytea, the_owner uuid, the_epoch bigint,
                                  chain_nonce bigint, slack integer, step integer)
returns void language plpgsql as $$
declare
  before bigint;
  lowest bigint;
begin
  select l.nonce_floor into before from lanes l
  where l.chain = the_chain and l.waiver = the_waiver and l.owner = the_owner and l.epoch = the_epoch
    and l.nonce_floor < chain_nonce - slack - step for no key update;
  if not found then
    return;
  end if;
  lowest := least(chain_nonce, (
    select u.waiver_nonce from unfinished u
    where u.chain = the_chain and u.waiver = the_waiver and u.waiver_nonce >= before
    order by u.waiver_nonce limit 1)) - slack;
  update lanes l set nonce_floor = lowest
  where l.chain = the_chain and l.waiver = the_waiver and l.nonce_floor < lowest - step;
end $$;

-- Finds the failed submissions among these.
create or replace function find_failed(the_chain integer, ids uuid[], key_ids text[], inner_hashes bytea[],
                                       senders bytea[])
returns table (id uuid) language plpgsql rows 1 as $$
#variable_conflict use_column
begin
  -- The condition has all columns of each index, so that a plan that was made for an empty partition is a good one later.
  return query
    select f.id from unnest(ids, key_ids, inner_hashes, senders) n (id, key_id, inner_hash, sender)
    join finished f on f.id = n.id and f.chain = the_chain and f.key_id = n.key_id and f.inner_hash = n.inner_hash
      and f.sender = n.sender and f.state = 'failed' and f.id >= recent_outcomes();
  -- The clock of the replica that made the ids, or of the database, was wrong by days.
  if recent_outcomes() > any (ids) then
    return query
      select f.id from unnest(ids, key_ids, inner_hashes, senders) n (id, key_id, inner_hash, sender)
      join finished f on f.id = n.id and f.chain = the_chain and f.key_id = n.key_id and f.inner_hash = n.inner_hash
        and f.sender = n.sender and f.state = 'failed' and f.id < recent_outcomes();
  end if;
end $$;

-- A stable function would read by the snapshot of its caller, which may be older than the day that its plan leaves out.
alter function highest_final_nonce(integer, bytea) volatile;
