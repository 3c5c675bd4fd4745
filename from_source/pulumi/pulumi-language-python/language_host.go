package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// languageHost answers the engine. What is not here is answered as unimplemented.
type languageHost struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
	engine string
}

// Handshake learns the engine's address where it was not an argument.
func (host *languageHost) Handshake(
	_ context.Context, request *pulumirpc.LanguageHandshakeRequest,
) (*pulumirpc.LanguageHandshakeResponse, error) {
	if request.EngineAddress != "" {
		host.engine = request.EngineAddress
	}
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

// GetPluginInfo says our version: that of nothing but this host.
func (host *languageHost) GetPluginInfo(
	context.Context, *emptypb.Empty,
) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: "0.1.0"}, nil
}

// GetRequiredPackages names none: providers are on PATH where downloads are refused.
func (host *languageHost) GetRequiredPackages(
	context.Context, *pulumirpc.GetRequiredPackagesRequest,
) (*pulumirpc.GetRequiredPackagesResponse, error) {
	return &pulumirpc.GetRequiredPackagesResponse{}, nil
}

// About names the interpreter.
func (host *languageHost) About(
	ctx context.Context, request *pulumirpc.AboutRequest,
) (*pulumirpc.AboutResponse, error) {
	python, err := interpreter(request.Info)
	if err != nil {
		return nil, err
	}
	version := "import platform; print(platform.python_version(), end='')"
	text, err := child(ctx, python, nil, "-c", version).Output()
	return &pulumirpc.AboutResponse{Executable: python, Version: string(text)}, err
}

// GetProgramDependencies names the distributions installed for the program (`pulumi about`).
func (host *languageHost) GetProgramDependencies(
	ctx context.Context, request *pulumirpc.GetProgramDependenciesRequest,
) (*pulumirpc.GetProgramDependenciesResponse, error) {
	python, err := interpreter(request.Info)
	if err != nil {
		return nil, err
	}
	list := []string{"-m", "pip", "list", "--format", "json"}
	if !request.TransitiveDependencies {
		list = append(list, "--not-required")
	}
	text, err := child(ctx, python, nil, list...).Output()
	if err != nil {
		return nil, fmt.Errorf("%s -m pip list: %w", python, err)
	}
	answer := &pulumirpc.GetProgramDependenciesResponse{}
	return answer, json.Unmarshal(text, &answer.Dependencies)
}

// InstallDependencies installs nothing; a missing virtual environment is said.
func (host *languageHost) InstallDependencies(
	request *pulumirpc.InstallDependenciesRequest,
	stream grpc.ServerStreamingServer[pulumirpc.InstallDependenciesResponse],
) error {
	if _, err := interpreter(request.Info); err != nil {
		said := []byte(err.Error() + "\n")
		return stream.Send(&pulumirpc.InstallDependenciesResponse{Stderr: said})
	}
	said := "this language host installs nothing: the virtual environment is used as it is\n"
	return stream.Send(&pulumirpc.InstallDependenciesResponse{Stdout: []byte(said)})
}

// Run runs a program to its end; its output goes straight to ours.
func (host *languageHost) Run(
	ctx context.Context, request *pulumirpc.RunRequest,
) (*pulumirpc.RunResponse, error) {
	python, err := interpreter(request.Info)
	if err != nil {
		return &pulumirpc.RunResponse{Error: err.Error()}, nil
	}
	runner, err := runnerPath()
	if err != nil {
		return &pulumirpc.RunResponse{Error: err.Error()}, nil
	}
	config, err := configVariables(request)
	if err != nil {
		return nil, err
	}
	arguments := append([]string{"-u", runner}, programArguments(request, host.engine)...)
	program := child(ctx, python, config, arguments...)
	program.Dir = request.Pwd
	program.Stdout, program.Stderr = os.Stdout, os.Stderr
	return outcome(program.Run())
}

// RunPlugin runs a plugin and streams what it writes; it ends when the engine drops the call.
func (host *languageHost) RunPlugin(
	request *pulumirpc.RunPluginRequest,
	stream grpc.ServerStreamingServer[pulumirpc.RunPluginResponse],
) error {
	output := &pluginOutput{stream: stream}
	python, err := interpreter(request.Info)
	var arguments []string
	if err == nil {
		arguments, err = pluginArguments(request)
	}
	if err != nil {
		_, _ = output.stderr([]byte(err.Error() + "\n"))
		return output.exitCode(1)
	}
	plugin := child(stream.Context(), python, request.Env, append([]string{"-u"}, arguments...)...)
	plugin.Dir = request.Pwd
	plugin.Stdout, plugin.Stderr = writer(output.stdout), writer(output.stderr)
	if err := plugin.Run(); plugin.ProcessState == nil {
		return err
	}
	return output.exitCode(int32(plugin.ProcessState.ExitCode()))
}

// pluginOutput sends what a plugin writes, as it comes; a stream takes one message at a time.
type pluginOutput struct {
	sending sync.Mutex
	stream  grpc.ServerStreamingServer[pulumirpc.RunPluginResponse]
}

func (output *pluginOutput) send(response *pulumirpc.RunPluginResponse) error {
	output.sending.Lock()
	defer output.sending.Unlock()
	return output.stream.Send(response)
}

func (output *pluginOutput) stdout(text []byte) (int, error) {
	part := &pulumirpc.RunPluginResponse_Stdout{Stdout: text}
	return len(text), output.send(&pulumirpc.RunPluginResponse{Output: part})
}

func (output *pluginOutput) stderr(text []byte) (int, error) {
	part := &pulumirpc.RunPluginResponse_Stderr{Stderr: text}
	return len(text), output.send(&pulumirpc.RunPluginResponse{Output: part})
}

func (output *pluginOutput) exitCode(code int32) error {
	last := &pulumirpc.RunPluginResponse_Exitcode{Exitcode: code}
	return output.send(&pulumirpc.RunPluginResponse{Output: last})
}

type writer func([]byte) (int, error)

func (write writer) Write(text []byte) (int, error) { return write(text) }

// runnerPath is the SDK's runner of programs: beside us, or on PATH.
func runnerPath() (string, error) {
	const name = "pulumi-language-python-exec"
	if runner, found := besideUs(name); found {
		return runner, nil
	}
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	return "", fmt.Errorf("%s is not on PATH; run `make setup`", name)
}
