// The values that the examples of several schemas share. They are consistent: the hash is the one of the transaction.

/** A signed InnerTx of the local chain: user 1 gives user 2 one test token. It can be sent once after each start. */
export const SIGNED_SAMPLE =
  "0xf8a78080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980b844a9059cbb0000000000000000000000003c44cdddb6a900fa2b585dd299e03d12fa4293bc0000000000000000000000000000000000000000000000000de0b6b3a7640000821155a0f048d16004aa5c545793d3660fbc381e8fef74f688e2c20ab1a429d55e3892b4a007d90b2bb03f340b962cba0145a51694f0be9383bf2556810f55db5f01c4e519";

export const TX_HASH_SAMPLE = "0xbf2535c5c9be7c3c940bbd8a77e582f732d8041b5ff4b91484de85c89910c324";

export const ID_SAMPLE = "019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a71";
