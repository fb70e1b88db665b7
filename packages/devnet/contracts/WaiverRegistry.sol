// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title The registry of waivers: the addresses that may submit gas-waived transactions, and their policies.
/// @notice Validators propose and vote. More than two thirds of the validators carry a proposal.
///
/// A policy is the list of contracts and methods that a waiver may call. It is written when it is proposed, under
/// a new version number, and has no effect until a carried proposal makes that version the waiver's. The cost of the
/// deciding vote thus does not depend on the policy's length, and an update revokes the old version without a loop.
///
/// There is no constructor: genesis writes the code, the first validators and the first waivers into the state.
/// Validators read `waivers` and `permissions` directly from storage when they check a wrapper.
contract WaiverRegistry {
    enum Kind {
        RegisterWaiver,
        UpdateWaiver,
        RevokeWaiver,
        AddValidator,
        RemoveValidator
    }

    /// `Voided`: the votes carried the proposal, but its change had become impossible.
    enum Status {
        None,
        Open,
        Carried,
        Voided,
        Expired
    }

    enum Choice {
        None,
        Yes,
        No
    }

    /// One entry of a policy. "Any contract" and "any calldata" are flags, not special addresses or selectors,
    /// so no address or selector can be mistaken for them.
    struct AllowedTarget {
        address target;
        bool anyTarget;
        bool anySelector;
        bytes4[] selectors;
    }

    struct Waiver {
        bool registered;
        uint64 version;
        uint64 index;
    }

    struct Validator {
        /// 0 for an account that is not a validator. Each addition gets a new term, so that votes cast before a
        /// removal do not count after a later addition.
        uint64 term;
        uint64 index;
    }

    struct Ballot {
        uint64 term;
        Choice choice;
    }

    struct Proposal {
        Kind kind;
        Status status;
        address subject;
        uint64 version;
        uint64 expiresAt;
        uint64 openIndex;
        address proposer;
    }

    uint64 public constant VOTING_PERIOD = 7 days;
    uint8 private constant ANY_TARGET = 1;
    uint8 private constant ANY_SELECTOR = 2;
    /// Marks a target that the policy names, so that a refusal can name the target or the selector as the reason.
    uint8 private constant LISTED = 4;

    /// Registration and policy version, which validators read when they check a wrapper.
    mapping(address waiver => Waiver) private waivers;
    /// keccak256(abi.encode(waiver, version, scope)), scope = target (20 bytes) | selector (4) | flags (1) | 0.
    mapping(bytes32 key => bool) private permissions;
    mapping(uint64 version => AllowedTarget[]) private policies;
    mapping(address validator => Validator) private validatorOf;
    mapping(uint256 id => Proposal) private proposals;
    mapping(uint256 id => mapping(address validator => Ballot)) private ballots;
    address[] private waiverList;
    address[] private validatorList;
    uint256[] private openList;
    uint256 public proposalCount;
    uint64 private lastVersion;
    uint64 private lastTerm;

    event ProposalCreated(
        uint256 indexed id,
        Kind indexed kind,
        address indexed subject,
        address proposer,
        uint64 version,
        uint64 expiresAt
    );
    event Voted(uint256 indexed id, address indexed validator, bool support);
    event ProposalCarried(uint256 indexed id, uint256 yes, uint256 validators);
    event ProposalVoided(uint256 indexed id);
    event ProposalExpired(uint256 indexed id);
    event WaiverRegistered(address indexed waiver, uint64 version);
    event WaiverUpdated(address indexed waiver, uint64 version);
    event WaiverRevoked(address indexed waiver);
    event ValidatorAdded(address indexed validator);
    event ValidatorRemoved(address indexed validator);

    error NotValidator(address account);
    error AlreadyValidator(address account);
    error LastValidator(address account);
    error AlreadyRegistered(address waiver);
    error NotRegistered(address waiver);
    error ZeroAddress();
    error InvalidTarget(uint256 index);
    error UnknownProposal(uint256 id);
    error ProposalClosed(uint256 id, Status status);
    error ProposalPastExpiry(uint256 id, uint64 expiresAt);
    error AlreadyVoted(uint256 id, address validator);
    error NotCarried(uint256 id, uint256 yes, uint256 validators);

    modifier onlyValidator() {
        if (validatorOf[msg.sender].term == 0) revert NotValidator(msg.sender);
        _;
    }

    // ---- proposing ----

    function proposeRegister(address waiver, AllowedTarget[] calldata targets)
        external
        onlyValidator
        returns (uint256 id)
    {
        return _propose(Kind.RegisterWaiver, waiver, _writePolicy(waiver, targets));
    }

    /// @notice Proposes to replace the whole policy of the waiver.
    function proposeUpdate(address waiver, AllowedTarget[] calldata targets)
        external
        onlyValidator
        returns (uint256 id)
    {
        return _propose(Kind.UpdateWaiver, waiver, _writePolicy(waiver, targets));
    }

    function proposeRevoke(address waiver) external onlyValidator returns (uint256 id) {
        return _propose(Kind.RevokeWaiver, waiver, 0);
    }

    function proposeAddValidator(address account) external onlyValidator returns (uint256 id) {
        return _propose(Kind.AddValidator, account, 0);
    }

    function proposeRemoveValidator(address account) external onlyValidator returns (uint256 id) {
        return _propose(Kind.RemoveValidator, account, 0);
    }

    // ---- voting ----

    /// @notice Casts or changes a vote. The vote that makes the yes votes more than two thirds carries the
    /// proposal in its own transaction. Proposing is not voting.
    function vote(uint256 id, bool support) external onlyValidator {
        Proposal storage proposal = _open(id);
        if (block.timestamp > proposal.expiresAt) revert ProposalPastExpiry(id, proposal.expiresAt);
        Ballot storage ballot = ballots[id][msg.sender];
        uint64 term = validatorOf[msg.sender].term;
        Choice choice = support ? Choice.Yes : Choice.No;
        if (ballot.term == term && ballot.choice == choice) revert AlreadyVoted(id, msg.sender);
        ballot.term = term;
        ballot.choice = choice;
        emit Voted(id, msg.sender, support);
        (uint256 yes,, uint256 total) = tally(id);
        if (_carries(yes, total)) _carry(id, proposal, yes, total);
    }

    /// @notice Closes a proposal that has expired, or that its votes carry since a validator was removed.
    /// Any account may call it.
    function settle(uint256 id) external {
        Proposal storage proposal = _open(id);
        if (block.timestamp > proposal.expiresAt) {
            _close(proposal, Status.Expired);
            emit ProposalExpired(id);
            return;
        }
        (uint256 yes,, uint256 total) = tally(id);
        if (!_carries(yes, total)) revert NotCarried(id, yes, total);
        _carry(id, proposal, yes, total);
    }

    // ---- views ----

    function isWaiver(address account) external view returns (bool) {
        return waivers[account].registered;
    }

    /// @notice Whether a call with this selector is allowed. Use isCallAllowed for calldata shorter than a selector.
    function isAllowed(address waiver, address target, bytes4 selector) public view returns (bool) {
        Waiver storage entry = waivers[waiver];
        if (!entry.registered) return false;
        uint64 version = entry.version;
        return permissions[_key(waiver, version, target, selector, 0)]
            || permissions[_key(waiver, version, target, 0, ANY_SELECTOR)]
            || permissions[_key(waiver, version, address(0), selector, ANY_TARGET)]
            || permissions[_key(waiver, version, address(0), 0, ANY_TARGET | ANY_SELECTOR)];
    }

    /// @notice Whether a call with this calldata is allowed. Only "any calldata" allows less than a whole selector.
    function isCallAllowed(address waiver, address target, bytes calldata data) external view returns (bool) {
        if (data.length >= 4) return isAllowed(waiver, target, bytes4(data[:4]));
        Waiver storage entry = waivers[waiver];
        return entry.registered
            && (permissions[_key(waiver, entry.version, target, 0, ANY_SELECTOR)]
                || permissions[_key(waiver, entry.version, address(0), 0, ANY_TARGET | ANY_SELECTOR)]);
    }

    function listWaivers() external view returns (address[] memory) {
        return waiverList;
    }

    function listValidators() external view returns (address[] memory) {
        return validatorList;
    }

    function isValidator(address account) external view returns (bool) {
        return validatorOf[account].term != 0;
    }

    /// @notice The policy version in force; 0 if the account is not a waiver.
    function versionOf(address waiver) external view returns (uint64) {
        return waivers[waiver].registered ? waivers[waiver].version : 0;
    }

    function targetsOf(address waiver) external view returns (AllowedTarget[] memory) {
        if (!waivers[waiver].registered) return new AllowedTarget[](0);
        return policies[waivers[waiver].version];
    }

    /// @notice The ids of the proposals that are open for votes, in any order.
    function openProposals() external view returns (uint256[] memory ids) {
        uint256 count;
        uint256[] memory all = openList;
        for (uint256 i; i < all.length; ++i) {
            if (block.timestamp <= proposals[all[i]].expiresAt) ++count;
        }
        ids = new uint256[](count);
        uint256 next;
        for (uint256 i; i < all.length; ++i) {
            if (block.timestamp <= proposals[all[i]].expiresAt) ids[next++] = all[i];
        }
    }

    function getProposal(uint256 id)
        external
        view
        returns (Kind kind, Status status, address subject, address proposer, uint64 version, uint64 expiresAt)
    {
        Proposal storage proposal = proposals[id];
        if (proposal.status == Status.None) revert UnknownProposal(id);
        status = proposal.status;
        if (status == Status.Open && block.timestamp > proposal.expiresAt) status = Status.Expired;
        return (
            proposal.kind, status, proposal.subject, proposal.proposer, proposal.version, proposal.expiresAt
        );
    }

    function proposalTargets(uint256 id) external view returns (AllowedTarget[] memory) {
        return policies[proposals[id].version];
    }

    function voteOf(uint256 id, address validator) public view returns (Choice) {
        Ballot storage ballot = ballots[id][validator];
        uint64 term = validatorOf[validator].term;
        return term != 0 && ballot.term == term ? ballot.choice : Choice.None;
    }

    /// @notice The votes of the present validators, and the number of validators.
    function tally(uint256 id) public view returns (uint256 yes, uint256 no, uint256 total) {
        total = validatorList.length;
        for (uint256 i; i < total; ++i) {
            Choice choice = voteOf(id, validatorList[i]);
            if (choice == Choice.Yes) ++yes;
            else if (choice == Choice.No) ++no;
        }
    }

    // ---- internals ----

    function _carries(uint256 yes, uint256 total) private pure returns (bool) {
        return yes * 3 > total * 2;
    }

    function _open(uint256 id) private view returns (Proposal storage proposal) {
        proposal = proposals[id];
        if (proposal.status == Status.None) revert UnknownProposal(id);
        if (proposal.status != Status.Open) revert ProposalClosed(id, proposal.status);
    }

    function _propose(Kind kind, address subject, uint64 version) private returns (uint256 id) {
        if (subject == address(0)) revert ZeroAddress();
        if (kind == Kind.RegisterWaiver) {
            if (waivers[subject].registered) revert AlreadyRegistered(subject);
        } else if (kind == Kind.AddValidator) {
            if (validatorOf[subject].term != 0) revert AlreadyValidator(subject);
        } else if (kind == Kind.RemoveValidator) {
            if (validatorOf[subject].term == 0) revert NotValidator(subject);
            if (validatorList.length == 1) revert LastValidator(subject);
        } else if (!waivers[subject].registered) {
            revert NotRegistered(subject);
        }
        id = ++proposalCount;
        uint64 expiresAt = uint64(block.timestamp) + VOTING_PERIOD;
        proposals[id] = Proposal({
            kind: kind,
            status: Status.Open,
            subject: subject,
            version: version,
            expiresAt: expiresAt,
            openIndex: uint64(openList.length),
            proposer: msg.sender
        });
        openList.push(id);
        emit ProposalCreated(id, kind, subject, msg.sender, version, expiresAt);
    }

    /// Writes a policy under a new version, which has no effect until a proposal with it is carried.
    function _writePolicy(address waiver, AllowedTarget[] calldata targets) private returns (uint64 version) {
        version = ++lastVersion;
        AllowedTarget[] storage policy = policies[version];
        for (uint256 i; i < targets.length; ++i) {
            AllowedTarget calldata entry = targets[i];
            if (entry.anyTarget ? entry.target != address(0) : entry.target == address(0)) {
                revert InvalidTarget(i);
            }
            if (entry.anySelector != (entry.selectors.length == 0)) revert InvalidTarget(i);
            policy.push(entry);
            uint8 flags = entry.anyTarget ? ANY_TARGET : 0;
            permissions[_key(waiver, version, entry.target, 0, flags | LISTED)] = true;
            if (entry.anySelector) {
                permissions[_key(waiver, version, entry.target, 0, flags | ANY_SELECTOR)] = true;
            }
            for (uint256 j; j < entry.selectors.length; ++j) {
                permissions[_key(waiver, version, entry.target, entry.selectors[j], flags)] = true;
            }
        }
    }

    function _key(address waiver, uint64 version, address target, bytes4 selector, uint8 flags)
        private
        pure
        returns (bytes32)
    {
        bytes32 scope = bytes32(bytes20(target)) | (bytes32(selector) >> 160) | (bytes32(bytes1(flags)) >> 192);
        return keccak256(abi.encode(waiver, version, scope));
    }

    function _close(Proposal storage proposal, Status status) private {
        proposal.status = status;
        uint256 last = openList[openList.length - 1];
        openList[proposal.openIndex] = last;
        proposals[last].openIndex = proposal.openIndex;
        openList.pop();
    }

    function _carry(uint256 id, Proposal storage proposal, uint256 yes, uint256 total) private {
        address subject = proposal.subject;
        if (!_possible(proposal.kind, subject)) {
            _close(proposal, Status.Voided);
            emit ProposalVoided(id);
            return;
        }
        _close(proposal, Status.Carried);
        emit ProposalCarried(id, yes, total);
        if (proposal.kind == Kind.RegisterWaiver) _registerWaiver(subject, proposal.version);
        else if (proposal.kind == Kind.UpdateWaiver) _updateWaiver(subject, proposal.version);
        else if (proposal.kind == Kind.RevokeWaiver) _revokeWaiver(subject);
        else if (proposal.kind == Kind.AddValidator) _addValidator(subject);
        else _removeValidator(subject);
    }

    /// Whether the change can be made. Another proposal may have been carried since this one was made.
    function _possible(Kind kind, address subject) private view returns (bool) {
        if (kind == Kind.RegisterWaiver) return !waivers[subject].registered;
        if (kind == Kind.AddValidator) return validatorOf[subject].term == 0;
        if (kind == Kind.RemoveValidator) return validatorOf[subject].term != 0 && validatorList.length > 1;
        return waivers[subject].registered;
    }

    function _registerWaiver(address waiver, uint64 version) private {
        waivers[waiver] = Waiver({registered: true, version: version, index: uint64(waiverList.length)});
        waiverList.push(waiver);
        emit WaiverRegistered(waiver, version);
    }

    function _updateWaiver(address waiver, uint64 version) private {
        waivers[waiver].version = version;
        emit WaiverUpdated(waiver, version);
    }

    function _revokeWaiver(address waiver) private {
        uint64 index = waivers[waiver].index;
        address last = waiverList[waiverList.length - 1];
        waiverList[index] = last;
        waivers[last].index = index;
        waiverList.pop();
        delete waivers[waiver];
        emit WaiverRevoked(waiver);
    }

    function _addValidator(address account) private {
        validatorOf[account] = Validator({term: ++lastTerm, index: uint64(validatorList.length)});
        validatorList.push(account);
        emit ValidatorAdded(account);
    }

    function _removeValidator(address account) private {
        uint64 index = validatorOf[account].index;
        address last = validatorList[validatorList.length - 1];
        validatorList[index] = last;
        validatorOf[last].index = index;
        validatorList.pop();
        delete validatorOf[account];
        emit ValidatorRemoved(account);
    }
}
