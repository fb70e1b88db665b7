# Sends test tokens from an account without native coin, by the gateway's URL alone.
#
#   pip install web3
#   python examples/python-web3.py
import os

from web3 import Account, Web3

# The gateway of `npm start`. A service of your own has another URL and key.
url = os.environ.get("GATEWAY_URL", "http://127.0.0.1:8080/rpc/gwp_dev_local")
token_address = "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9"
recipient = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
abi = [
    {
        "type": "function",
        "name": "transfer",
        "stateMutability": "nonpayable",
        "inputs": [{"name": "to", "type": "address"}, {"name": "amount", "type": "uint256"}],
        "outputs": [{"name": "", "type": "bool"}],
    },
    {
        "type": "event",
        "name": "Transfer",
        "anonymous": False,
        "inputs": [
            {"name": "from", "type": "address", "indexed": True},
            {"name": "to", "type": "address", "indexed": True},
            {"name": "amount", "type": "uint256", "indexed": False},
        ],
    },
]

# A user of the local chain.
Account.enable_unaudited_hdwallet_features()
phrase = "test test test test test test test test test test test junk"
account = Account.from_mnemonic(phrase, account_path="m/44'/60'/0'/0/4")

w3 = Web3(Web3.HTTPProvider(url))
token = w3.eth.contract(address=token_address, abi=abi)

# Ten in a row, without waiting: the pending nonce counts what the service holds.
hashes = []
for _ in range(10):
    transaction = token.functions.transfer(recipient, 10**18).build_transaction(
        {
            "from": account.address,
            "nonce": w3.eth.get_transaction_count(account.address, "pending"),
            # Without a gas price, web3.py wants the base fee of the latest block, and this chain has none.
            "gasPrice": w3.eth.gas_price,
        }
    )
    signed = account.sign_transaction(transaction)
    hashes.append(w3.eth.send_raw_transaction(signed.raw_transaction))

for transaction_hash in hashes:
    receipt = w3.eth.wait_for_transaction_receipt(transaction_hash)
    [event] = token.events.Transfer().process_receipt(receipt)
    price = receipt["effectiveGasPrice"]
    print(f"{transaction_hash.to_0x_hex()} status {receipt['status']} gas price {price} amount {event['args']['amount']}")
