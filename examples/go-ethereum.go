// Sends test tokens from an account without native coin, by the gateway's URL alone.
//
//	go mod init example && go get github.com/ethereum/go-ethereum
//	PRIVATE_KEY=… go run go-ethereum.go
package main

import (
	"context"
	"fmt"
	"log"
	"math/big"
	"os"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/accounts/abi/bind"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
)

const tokenABI = `[{"type":"function","name":"transfer","stateMutability":"nonpayable",
	"inputs":[{"name":"to","type":"address"},{"name":"amount","type":"uint256"}],"outputs":[{"name":"","type":"bool"}]}]`

var (
	tokenAddress = common.HexToAddress("0x78Cf24370174180738C5B8E352B6D14c83a6c9A9")
	recipient    = common.HexToAddress("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC")
)

func main() {
	if err := send(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func send(ctx context.Context) error {
	// The gateway of `npm start`. A service of your own has another URL and key.
	url := os.Getenv("GATEWAY_URL")
	if url == "" {
		url = "http://127.0.0.1:8080/rpc/gwp_dev_local"
	}
	client, err := ethclient.DialContext(ctx, url)
	if err != nil {
		return err
	}
	chainID, err := client.ChainID(ctx)
	if err != nil {
		return err
	}
	key, err := crypto.HexToECDSA(strings.TrimPrefix(os.Getenv("PRIVATE_KEY"), "0x"))
	if err != nil {
		return err
	}
	options, err := bind.NewKeyedTransactorWithChainID(key, chainID)
	if err != nil {
		return err
	}
	parsed, err := abi.JSON(strings.NewReader(tokenABI))
	if err != nil {
		return err
	}
	token := bind.NewBoundContract(tokenAddress, parsed, client, client, client)

	// Ten in a row, without waiting: the pending nonce counts what the service holds.
	var sent []*types.Transaction
	for range 10 {
		transaction, err := token.Transact(options, "transfer", recipient, big.NewInt(1e18))
		if err != nil {
			return err
		}
		sent = append(sent, transaction)
	}
	for _, transaction := range sent {
		receipt, err := bind.WaitMined(ctx, client, transaction)
		if err != nil {
			return err
		}
		fmt.Println(receipt.TxHash, "status", receipt.Status, "gas price", receipt.EffectiveGasPrice)
	}
	return nil
}
