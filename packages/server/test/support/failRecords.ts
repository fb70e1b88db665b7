import type { TestService } from "./testService.js";

/** Makes each query of submissions' records fail for a cause that no trouble of the store has: a division by zero. */
export async function failRecords(service: Pick<TestService, "query">): Promise<void> {
  await service.query(`do $$ begin
    execute 'create or replace view submissions as select one.* from ('
      || rtrim(pg_get_viewdef('submissions'), ';') || ') one where 1 / 0 = 1';
  end $$`);
}
