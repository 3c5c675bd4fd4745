// The Python language host: what the Pulumi engine starts in order to run a Python program.
//
// Pulumi's own host is no published module, so the closed-network setup (tools/setup.py) builds this
// one beside the CLI. The engine passes its address as the last argument, reads our port from the first
// line of stdout, and then asks for Run (the program) and RunPlugin (policy packs, component providers).
// It starts two hosts for each command, which is why this one is no Python.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

// messageLimit is in bytes of one message, as the SDK's own channels allow.
const messageLimit = 400 * 1024 * 1024

func main() {
	if err := serve(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-language-python:", err)
		os.Exit(1)
	}
}

// serve answers one engine until it says so (SIGINT, SIGTERM) or is gone. No child outlives it.
func serve(engine string) error {
	over, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	go awaitEngineGone(stop)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(messageLimit), grpc.WaitForHandlers(true))
	pulumirpc.RegisterLanguageRuntimeServer(server, &languageHost{engine: engine})
	context.AfterFunc(over, server.Stop)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	// Stopped is also a server that was told to end before it began.
	if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	server.Stop() // Waits for the calls, which end their children.
	return nil
}

// awaitEngineGone calls stop when the engine disappears: it holds the other end of our standard input.
// A host that was started by hand has another kind of standard input and stays.
func awaitEngineGone(stop func()) {
	if found, err := os.Stdin.Stat(); err == nil && found.Mode()&os.ModeNamedPipe != 0 {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}
}
