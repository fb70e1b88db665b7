// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// A poll in which each account has one vote, until it closes.
contract Poll {
    uint256 public immutable closesAt;
    uint256 public votes;
    mapping(address account => bool) public hasVoted;

    event Voted(address indexed account);

    error PollClosed(uint256 closedAt);
    error VotedBefore(address account);

    constructor(uint256 secondsOpen) {
        closesAt = block.timestamp + secondsOpen;
    }

    function vote() external {
        if (block.timestamp >= closesAt) revert PollClosed(closesAt);
        if (hasVoted[msg.sender]) revert VotedBefore(msg.sender);
        hasVoted[msg.sender] = true;
        votes += 1;
        emit Voted(msg.sender);
    }
}
