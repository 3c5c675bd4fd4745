package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/BurntSushi/toml"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"golang.org/x/sys/unix"
)

// bail is the exit code of a program that has shown its error itself (pulumi-language-python-exec).
const bail = 32

// lastWords is how long a child has between SIGTERM and SIGKILL; the engine gives us 5 seconds in all.
const lastWords = 2 * time.Second

// interpreter is the Python that runs a program: its `virtualenv` option, relative to the project's
// root. Without the option it is PULUMI_PYTHON_CMD, else the Python that stands beside us.
func interpreter(info *pulumirpc.ProgramInfo) (string, error) {
	option := info.GetOptions().GetFields()["virtualenv"].GetStringValue()
	if option == "" {
		return defaultInterpreter(), nil
	}
	folder := option
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(info.RootDirectory, option)
	}
	python := filepath.Join(folder, "bin", "python")
	if found, err := os.Stat(python); err != nil || found.IsDir() {
		return "", fmt.Errorf(
			"Pulumi.yaml: runtime.options.virtualenv: no virtual environment there, got '%s'"+
				" (%s); create it with `python3 -m venv` and install requirements.txt"+
				" into it; in a checkout of trainer-infra run `make setup`", option, folder)
	}
	return python, nil
}

func defaultInterpreter() string {
	if command := os.Getenv("PULUMI_PYTHON_CMD"); command != "" {
		return command
	}
	if python, found := besideUs("python"); found {
		return python
	}
	return "python3"
}

// besideUs is the path of a program in the folder of this one, and whether it is there.
func besideUs(name string) (string, bool) {
	own, err := os.Executable()
	if err != nil {
		return "", false
	}
	path := filepath.Join(filepath.Dir(own), name)
	_, err = os.Stat(path)
	return path, err == nil
}

// child is a Python process, without standard input, which ends with its call: SIGTERM, then SIGKILL.
func child(ctx context.Context, python string, more []string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, python, arguments...)
	command.Env = append(environment(python), more...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = lastWords
	return command
}

// environment is ours, with the virtual environment of an interpreter active.
func environment(python string) []string {
	var env []string
	for _, each := range os.Environ() {
		if !strings.HasPrefix(each, "PYTHONHOME=") {
			env = append(env, each)
		}
	}
	folder := filepath.Dir(python)
	if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "pyvenv.cfg")); err == nil {
		path := folder + string(os.PathListSeparator) + os.Getenv("PATH")
		env = append(env, "VIRTUAL_ENV="+filepath.Dir(folder), "PATH="+path)
	}
	return env
}

// configVariables are how the SDK reads a stack's configuration.
func configVariables(request *pulumirpc.RunRequest) ([]string, error) {
	// Not nil, which would be null.
	values, secrets := map[string]string{}, []string{}
	maps.Copy(values, request.Config)
	config, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	keys, err := json.Marshal(append(secrets, request.ConfigSecretKeys...))
	return []string{
		"PULUMI_CONFIG=" + string(config),
		"PULUMI_CONFIG_SECRET_KEYS=" + string(keys),
	}, err
}

// programArguments are those of pulumi-language-python-exec for one run.
func programArguments(request *pulumirpc.RunRequest, engine string) []string {
	options := [][2]string{
		{"monitor", request.MonitorAddress},
		{"engine", engine},
		{"project", request.Project},
		{"root_directory", request.Info.RootDirectory},
		{"stack", request.Stack},
		{"organization", request.Organization},
		{"pwd", request.Pwd},
		{"dry_run", strconv.FormatBool(request.DryRun)},
		{"parallel", strconv.Itoa(int(request.Parallel))},
	}
	var arguments []string
	for _, each := range options {
		if each[1] != "" {
			arguments = append(arguments, "--"+each[0], each[1])
		}
	}
	program := filepath.Join(request.Info.ProgramDirectory, request.Info.EntryPoint)
	return append(append(arguments, program), request.Args...)
}

// pluginArguments say what to run for a plugin written in Python. A policy pack runs in the SDK's pack
// runner; a folder with a `__main__.py` runs as it is; any other folder is a package whose components
// the SDK serves.
func pluginArguments(request *pulumirpc.RunPluginRequest) ([]string, error) {
	folder := request.Info.ProgramDirectory
	if request.Kind == "analyzer" {
		return append(append([]string{"-m", "pulumi.policy"}, request.Args...), folder), nil
	}
	if _, err := os.Stat(filepath.Join(folder, "__main__.py")); err == nil {
		return append([]string{folder}, request.Args...), nil
	}
	var described struct{ Project struct{ Name string } }
	_, err := toml.DecodeFile(filepath.Join(folder, "pyproject.toml"), &described)
	if err != nil || described.Project.Name == "" {
		return nil, fmt.Errorf("%s: no __main__.py and no readable [project] table", folder)
	}
	return append([]string{"-m", "pulumi.run.plugin", described.Project.Name}, request.Args...), nil
}

// outcome is the answer to the engine about a program that has ended.
func outcome(err error) (*pulumirpc.RunResponse, error) {
	var ended *exec.ExitError
	if err == nil || !errors.As(err, &ended) {
		return &pulumirpc.RunResponse{}, err
	}
	if status := ended.Sys().(syscall.WaitStatus); status.Signaled() {
		name := unix.SignalName(status.Signal())
		return &pulumirpc.RunResponse{Error: "the program was ended by " + name}, nil
	}
	if ended.ExitCode() == bail {
		return &pulumirpc.RunResponse{Bail: true}, nil
	}
	said := fmt.Sprintf("the program ended with exit code %d", ended.ExitCode())
	return &pulumirpc.RunResponse{Error: said}, nil
}
