-- Raises the floor of a lane to below its lowest nonce. The row of the lane is locked first, for update, because a weaker lock
-- would pass beside the writes of the lane. So the statement behind the lock sees the nonces of all open writes, and later ones
-- see the new floor.
create function raise_nonce_floor(the_chain integer, the_waiver bytea, the_owner uuid, the_epoch bigint,
                                  chain_nonce bigint, slack integer, step integer)
returns void language plpgsql as $$
declare
  before bigint;
  lowest bigint;
begin
  select l.nonce_floor into before from lanes l
  where l.chain = the_chain and l.waiver = the_waiver and l.owner = the_owner and l.epoch = the_epoch
    and l.nonce_floor < chain_nonce - slack - step for update;
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
