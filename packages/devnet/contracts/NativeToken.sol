// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title The gas token of the profile `stable` as an ERC-20: one balance, 18 decimals native and 6 here.
/// @notice EIP-2612 permit and ERC-3009 authorizations. Genesis places the runtime code, so there is no constructor.
/// The slot of `_slotOf(account)` is no storage: the devnet's state reads and writes the account's native balance there.
contract NativeToken {
    string public constant name = "USDT0";
    string public constant symbol = "USDT0";
    string public constant version = "1";
    uint8 public constant decimals = 6;

    bytes32 public constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    /// Half the order of secp256k1. Of the two valid signatures (s and n - s) only the lower is accepted (EIP-2).
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;
    /// The native units in one unit of the ERC-20.
    uint256 private constant SCALE = 10 ** 12;
    /// The first 12 bytes of a balance's slot; the account is the rest. No other slot begins like this.
    uint256 private constant BALANCE_SLOTS = uint256(0x62616c616e6365206f662061) << 160;

    uint256 public totalSupply;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => uint256) public nonces;
    mapping(address => mapping(bytes32 => bool)) public authorizationState;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    error InsufficientBalance(address account, uint256 balance, uint256 needed);
    error InsufficientAllowance(address owner, address spender, uint256 allowance, uint256 needed);
    error InvalidReceiver(address receiver);
    error PermitExpired(uint256 deadline, uint256 timestamp);
    error InvalidPermitSignature(address recovered, address owner);
    error AuthorizationNotValid(uint256 validAfter, uint256 validBefore, uint256 timestamp);
    error AuthorizationUsedOrCanceled(address authorizer, bytes32 nonce);
    error InvalidAuthorizationSignature(address recovered, address authorizer);
    error CallerIsNotPayee(address caller, address payee);

    function balanceOf(address account) external view returns (uint256) {
        return _balanceOf(account) / SCALE;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _transfer(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed != type(uint256).max) {
            if (allowed < value) revert InsufficientAllowance(from, msg.sender, allowed, value);
            unchecked {
                allowance[from][msg.sender] = allowed - value;
            }
        }
        _transfer(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(msg.sender, spender, value);
        return true;
    }

    /// @notice Approves by signature instead of by transaction (EIP-2612).
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        if (block.timestamp > deadline) revert PermitExpired(deadline, block.timestamp);
        uint256 nonce = nonces[owner];
        address recovered =
            _recover(keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, nonce, deadline)), v, r, s);
        if (recovered == address(0) || recovered != owner) revert InvalidPermitSignature(recovered, owner);
        nonces[owner] = nonce + 1;
        _approve(owner, spender, value);
    }

    /// @notice Transfers by the payer's signature, whoever sends it (ERC-3009).
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        bytes32 structHash = keccak256(
            abi.encode(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
        );
        _useAuthorization(from, validAfter, validBefore, nonce, _recover(structHash, v, r, s));
        _transfer(from, to, value);
    }

    /// @notice The same, sent by the payee, so that nobody can send it first (ERC-3009).
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        if (msg.sender != to) revert CallerIsNotPayee(msg.sender, to);
        bytes32 structHash = keccak256(
            abi.encode(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
        );
        _useAuthorization(from, validAfter, validBefore, nonce, _recover(structHash, v, r, s));
        _transfer(from, to, value);
    }

    /// @notice Voids an authorization that nobody has used (ERC-3009).
    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        address recovered = _recover(keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), v, r, s);
        _useNonce(authorizer, nonce, recovered);
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                DOMAIN_TYPEHASH,
                keccak256(bytes(name)),
                keccak256(bytes(version)),
                block.chainid,
                address(this)
            )
        );
    }

    function _useAuthorization(
        address from,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        address recovered
    ) private {
        if (block.timestamp <= validAfter || block.timestamp >= validBefore) {
            revert AuthorizationNotValid(validAfter, validBefore, block.timestamp);
        }
        _useNonce(from, nonce, recovered);
        emit AuthorizationUsed(from, nonce);
    }

    function _useNonce(address authorizer, bytes32 nonce, address recovered) private {
        if (recovered == address(0) || recovered != authorizer) {
            revert InvalidAuthorizationSignature(recovered, authorizer);
        }
        if (authorizationState[authorizer][nonce]) revert AuthorizationUsedOrCanceled(authorizer, nonce);
        authorizationState[authorizer][nonce] = true;
    }

    function _recover(bytes32 structHash, uint8 v, bytes32 r, bytes32 s) private view returns (address) {
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), structHash));
        return uint256(s) > HALF_ORDER ? address(0) : ecrecover(digest, v, r, s);
    }

    function _approve(address owner, address spender, uint256 value) private {
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }

    function _transfer(address from, address to, uint256 value) private {
        if (to == address(0)) revert InvalidReceiver(to);
        uint256 balance = _balanceOf(from);
        if (balance / SCALE < value) revert InsufficientBalance(from, balance / SCALE, value);
        unchecked {
            _setBalance(from, balance - value * SCALE);
            _setBalance(to, _balanceOf(to) + value * SCALE);
        }
        emit Transfer(from, to, value);
    }

    function _slotOf(address account) private pure returns (uint256) {
        return BALANCE_SLOTS | uint160(account);
    }

    function _balanceOf(address account) private view returns (uint256 value) {
        uint256 slot = _slotOf(account);
        assembly ("memory-safe") {
            value := sload(slot)
        }
    }

    function _setBalance(address account, uint256 value) private {
        uint256 slot = _slotOf(account);
        assembly ("memory-safe") {
            sstore(slot, value)
        }
    }
}
