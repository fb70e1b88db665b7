// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Poll} from "../src/Poll.sol";

/// Cheat codes of forge. A project of yours takes them from forge-std.
interface Vm {
    function envAddress(string calldata name) external view returns (address);
    function expectRevert(bytes calldata data) external;
    function prank(address sender) external;
    function warp(uint256 timestamp) external;
}

/// Runs on a fork of the devnet, in which the poll has the votes that users have sent without gas.
contract PollTest {
    Vm private constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
    address private constant CAROL = 0x90F79bf6EB2c4f870365E785982E1f101E93b906;

    Poll private poll;
    uint256 private votes;

    function setUp() public {
        poll = Poll(vm.envAddress("POLL"));
        votes = poll.votes();
    }

    function test_countsAnotherVote() public {
        require(votes > 0, "nobody has voted on the devnet");
        vm.prank(CAROL);
        poll.vote();
        require(poll.hasVoted(CAROL) && poll.votes() == votes + 1, "the vote does not count");
    }

    function test_refusesASecondVote() public {
        vm.prank(CAROL);
        poll.vote();
        vm.expectRevert(abi.encodeWithSelector(Poll.VotedBefore.selector, CAROL));
        vm.prank(CAROL);
        poll.vote();
    }

    function test_closes() public {
        uint256 closesAt = poll.closesAt();
        vm.warp(closesAt);
        vm.expectRevert(abi.encodeWithSelector(Poll.PollClosed.selector, closesAt));
        vm.prank(CAROL);
        poll.vote();
    }
}
