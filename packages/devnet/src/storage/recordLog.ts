import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";

// An append-only file of records. Each record is
//
//   length of the payload (4 bytes) | CRC-32 of those 4 bytes | CRC-32 of the payload | payload
//
// with big-endian integers. The length has its own checksum, so that a damaged length in the middle is not mistaken
// for an unfinished record at the end.

const HEADER_BYTES = 12;

/** The place of a record's payload in the file, in bytes. */
export interface RecordPlace {
  readonly offset: number;
  readonly length: number;
}

/** Thrown for bytes that are not a record but have more bytes behind them, which an interrupted write cannot cause. */
export class DamagedLogError extends Error {
  override readonly name = "DamagedLogError";

  constructor(
    readonly offset: number,
    readonly following: number,
  ) {
    super(`bytes ${offset} and following are not a record, with ${following} bytes of the file behind them`);
  }
}

/** A log that is open for reading and appending. The caller makes sure that only one process has it open. */
export class RecordLog {
  readonly #fd: number;
  #end: number;

  /**
   * @param start the offset of the first record in bytes.
   * @throws the system's error.
   */
  constructor(path: string, start: number) {
    this.#fd = openSync(path, "r+");
    this.#end = start;
  }

  /**
   * Reads all records. It cuts off an unfinished record at the end, whose block was never announced.
   * @returns the number of bytes cut off.
   * @throws {@link DamagedLogError}
   */
  scan(onRecord: (place: RecordPlace, payload: Uint8Array) => void): number {
    const fileSize = fstatSync(this.#fd).size;
    while (this.#end < fileSize) {
      const payload = this.#readRecord(fileSize);
      if (payload === undefined) {
        ftruncateSync(this.#fd, this.#end);
        fdatasyncSync(this.#fd);
        return fileSize - this.#end;
      }
      const place = { offset: this.#end + HEADER_BYTES, length: payload.length };
      this.#end = place.offset + place.length;
      onRecord(place, payload);
    }
    return 0;
  }

  read({ offset, length }: RecordPlace): Uint8Array {
    // A slice of a Buffer can keep a larger pool of memory alive; a Uint8Array does not.
    const payload = new Uint8Array(length);
    readFully(this.#fd, payload, offset);
    return payload;
  }

  /** Appends a record and syncs it to the disk. If it throws, the log is unchanged. */
  append(payload: Uint8Array): void {
    const record = frame(payload);
    try {
      for (let written = 0; written < record.length; ) {
        written += writeSync(this.#fd, record, written, record.length - written, this.#end + written);
      }
      fdatasyncSync(this.#fd);
    } catch (error) {
      ftruncateSync(this.#fd, this.#end);
      throw error;
    }
    this.#end += record.length;
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Reads the next record; undefined if it is unfinished. */
  #readRecord(fileSize: number): Uint8Array | undefined {
    const remaining = fileSize - this.#end;
    if (remaining < HEADER_BYTES) return undefined;
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    readFully(this.#fd, header, this.#end);
    const length = header.readUInt32BE(0);
    if (crc32(header.subarray(0, 4)) !== header.readUInt32BE(4)) {
      // After a crash, a file system may leave zeros where the file was extended but not written.
      if (this.#isZero(this.#end, fileSize)) return undefined;
      throw new DamagedLogError(this.#end, remaining);
    }
    if (remaining < HEADER_BYTES + length) return undefined;
    const payload = this.read({ offset: this.#end + HEADER_BYTES, length });
    if (crc32(payload) === header.readUInt32BE(8)) return payload;
    const following = remaining - HEADER_BYTES - length;
    if (following > 0) throw new DamagedLogError(this.#end, following);
    return undefined;
  }

  #isZero(from: number, to: number): boolean {
    const chunk = Buffer.allocUnsafe(65_536);
    for (let at = from; at < to; at += chunk.length) {
      const part = chunk.subarray(0, Math.min(chunk.length, to - at));
      readFully(this.#fd, part, at);
      if (part.some((byte) => byte !== 0)) return false;
    }
    return true;
  }
}

/** Puts the header of a record before its payload. */
export function frame(payload: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  record.writeUInt32BE(payload.length, 0);
  record.writeUInt32BE(crc32(record.subarray(0, 4)), 4);
  record.writeUInt32BE(crc32(payload), 8);
  record.set(payload, HEADER_BYTES);
  return record;
}

function readFully(fd: number, target: Uint8Array, position: number): void {
  for (let done = 0; done < target.length; ) {
    const read = readSync(fd, target, done, target.length - done, position + done);
    if (read === 0)
      throw new Error(`the file ends ${target.length - done} bytes early: another program changes it`);
    done += read;
  }
}
