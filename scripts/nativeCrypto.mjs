// The tests run with the native cryptography, as the service and the devnet do.
import { useNativeCrypto } from "@gas-waiver/crypto-native";

await useNativeCrypto();
