// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Poll} from "../src/Poll.sol";

/// Cheat codes of forge. A project of yours takes them from forge-std.
interface Vm {
    function startBroadcast() external;
    function stopBroadcast() external;
}

/// Votes in a poll as the account of the private key that forge gets.
contract Vote {
    Vm private constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    function run(Poll poll) external {
        vm.startBroadcast();
        poll.vote();
        vm.stopBroadcast();
    }
}
