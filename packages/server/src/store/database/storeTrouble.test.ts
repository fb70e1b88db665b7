import { describe, expect, it } from "vitest";
import { useTestStore } from "../../../test/support/testStore.js";
import type { Store } from "../store.js";
import { isStoreUnavailable, troubleOf } from "./storeTrouble.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

const failureOf = (sql: string) => store.pool.query(sql).catch((error: unknown) => error);

describe("the name of a trouble", () => {
  it.each([
    ["execute a_statement_of_another_session", "pooled"],
    ["prepare twice as select 1; prepare twice as select 1", "pooled"],
    ["set transaction_read_only = on; create table a ()", "readOnly"],
    ["set statement_timeout = '1ms'; select pg_sleep(1)", "cancelled"],
    ["begin; set transaction_timeout = '1ms'; select pg_sleep(1)", "cancelled"],
    ["do $$ begin raise exception using errcode = 'io_error'; end $$", "files"],
    ["do $$ begin raise exception using errcode = 'data_corrupted'; end $$", "files"],
    ["do $$ begin raise exception using errcode = 'index_corrupted'; end $$", "files"],
    ["select pg_terminate_backend(pg_backend_pid())", "stopping"],
    ["do $$ begin raise exception using errcode = 'disk_full'; end $$", "full"],
  ])("of `%s` is %s", async (sql, kind) => {
    expect(troubleOf(await failureOf(sql))?.kind).toBe(kind);
  });

  it("is not given to what the database refuses for its own sake, whatever the message says", async () => {
    for (const sql of [
      "select 1/0",
      "do $$ begin raise exception 'connection terminated: timeout'; end $$",
      "set lock_timeout = '1ms'; do $$ begin raise lock_not_available using message = 'lock timeout'; end $$",
    ]) {
      expect(isStoreUnavailable(await failureOf(sql))).toBe(false);
    }
  });
});
