// Program reference renders and validates TrainJobs with the reference's own code.
//
// It reads one case per line on stdin and writes one answer per line on stdout, both JSON; see
// tests/parity/reference.py, which builds and runs it. API defaults must already be applied.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"
	"unsafe"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/features"
	"github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	testingutil "github.com/kubeflow/trainer/v2/pkg/util/testing"
	"github.com/kubeflow/trainer/v2/pkg/webhooks"
)

const longestLine = 64 << 20

var scheme = testingutil.NewClientBuilder().Build().Scheme()

type testCase struct {
	TrainJob    json.RawMessage              `json:"trainJob"`
	OldTrainJob json.RawMessage              `json:"oldTrainJob"`
	Runtime     json.RawMessage              `json:"runtime"`
	Existing    []*unstructured.Unstructured `json:"existing"`
	FeatureGate bool                         `json:"featureGate"`
	// Now is the time of the mutating webhook, in seconds since 1970.
	Now int64 `json:"now"`
	// Repeat is how often the case runs: the reference calls its plugins in random order.
	Repeat int `json:"repeat"`
}

type problem struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
	Value  any    `json:"badValue,omitempty"`
}

// outcome is one run of a case. Panic, BuildError and StatusError are empty when nothing went wrong.
type outcome struct {
	RuntimeErrors []problem `json:"runtimeErrors"`
	Errors        []problem `json:"errors"`
	Warnings      []string  `json:"warnings"`
	Objects       []any     `json:"objects"`
	BuildError    string    `json:"buildError"`
	Status        any       `json:"status"`
	StatusError   string    `json:"statusError"`
	// PatchTimes are those of the runtimePatches after the mutating webhook.
	PatchTimes []string `json:"patchTimes"`
	Panic      string   `json:"panic"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), longestLine)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		var given testCase
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := encoder.Encode(given.outcomes()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// outcomes are the different results of the case's runs, in the order in which they were first seen.
func (c *testCase) outcomes() []json.RawMessage {
	var all []json.RawMessage
	seen := map[string]bool{}
	for range max(c.Repeat, 1) {
		text, err := json.Marshal(c.run())
		if err != nil {
			text, _ = json.Marshal(outcome{Panic: err.Error()})
		}
		if !seen[string(text)] {
			seen[string(text)] = true
			all = append(all, text)
		}
	}
	return all
}

func (c *testCase) run() (result outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			result.Panic = fmt.Sprint(cause)
		}
	}()
	if err := features.SetEnable(features.TrainJobStatus, c.FeatureGate); err != nil {
		panic(err)
	}
	ctx := context.Background()
	result.RuntimeErrors, result.Warnings = c.validateRuntime(ctx)
	job := c.defaulted(ctx)
	for _, each := range job.Spec.RuntimePatches {
		result.PatchTimes = append(result.PatchTimes, each.Time.UTC().Format(time.RFC3339))
	}
	chosen, ok := c.runtimes(ctx)[runtime.RuntimeRefToRuntimeRegistryKey(job.Spec.RuntimeRef)]
	if !ok {
		panic("no such runtime is registered")
	}
	warnings, found := chosen.ValidateObjects(ctx, decoded[trainer.TrainJob](c.OldTrainJob), job.DeepCopy())
	result.Warnings = append(result.Warnings, warnings...)
	result.Errors = problems(found)
	objects, err := chosen.NewObjects(ctx, job.DeepCopy())
	if err != nil {
		result.BuildError = err.Error()
	}
	for _, each := range objects {
		result.Objects = append(result.Objects, each)
	}
	status, err := chosen.TrainJobStatus(ctx, job.DeepCopy())
	if err != nil {
		result.StatusError = err.Error()
	}
	if status != nil {
		result.Status = status
	}
	return result
}

// runtimes are those of a controller that sees the case's objects and nothing else.
func (c *testCase) runtimes(ctx context.Context) map[string]runtime.Runtime {
	// The default converters take 20 ms a client; only the snapshot is applied with them.
	builder := fake.NewClientBuilder().WithScheme(scheme).WithTypeConverters(managedfields.NewDeducedTypeConverter())
	builder.WithObjects(c.runtimeObject())
	for _, each := range c.Existing {
		builder.WithObjects(each.DeepCopy())
	}
	config := &configapi.Configuration{}
	configapi.SetDefaults_Configuration(config)
	indexer := testingutil.AsIndex(builder)
	registered, err := core.New(ctx, builder.Build(), indexer, config)
	if err != nil {
		panic(err)
	}
	return registered
}

func (c *testCase) runtimeObject() client.Object {
	var meta unstructured.Unstructured
	if err := json.Unmarshal(c.Runtime, &meta); err != nil {
		panic(err)
	}
	if meta.GetKind() == trainer.TrainingRuntimeKind {
		return decoded[trainer.TrainingRuntime](c.Runtime)
	}
	return decoded[trainer.ClusterTrainingRuntime](c.Runtime)
}

func (c *testCase) validateRuntime(ctx context.Context) ([]problem, []string) {
	var err error
	var warnings []string
	switch given := c.runtimeObject().(type) {
	case *trainer.TrainingRuntime:
		warnings, err = (&webhooks.TrainingRuntimeValidator{}).ValidateCreate(ctx, given)
	case *trainer.ClusterTrainingRuntime:
		warnings, err = (&webhooks.ClusterTrainingRuntimeValidator{}).ValidateCreate(ctx, given)
	}
	var found field.ErrorList
	var all utilerrors.Aggregate
	if errors.As(err, &all) {
		for _, each := range all.Errors() {
			var one *field.Error
			if !errors.As(each, &one) {
				panic(each)
			}
			found = append(found, one)
		}
	}
	return problems(found), warnings
}

// defaulted is the TrainJob after the mutating webhook, whose clock only its own package can set.
func (c *testCase) defaulted(ctx context.Context) *trainer.TrainJob {
	defaulter := &webhooks.TrainJobDefaulter{}
	field := reflect.ValueOf(defaulter).Elem().FieldByName("clock")
	now := clocktesting.NewFakePassiveClock(time.Unix(c.Now, 0).UTC())
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(now))
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}}
	if decoded[trainer.TrainJob](c.OldTrainJob) != nil {
		request.Operation = admissionv1.Update
		request.OldObject.Raw = c.OldTrainJob
	}
	job := decoded[trainer.TrainJob](c.TrainJob)
	if err := defaulter.Default(admission.NewContextWithRequest(ctx, request), job); err != nil {
		panic(err)
	}
	return job
}

func problems(found field.ErrorList) []problem {
	var all []problem
	for _, each := range found {
		all = append(all, problem{string(each.Type), each.Field, each.Detail, jsonable(each.BadValue)})
	}
	return all
}

func jsonable(value any) any {
	if _, err := json.Marshal(value); err != nil {
		return fmt.Sprint(value)
	}
	return value
}

// decoded is the object in the text; nil when there is none.
func decoded[T any](text json.RawMessage) *T {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	value := new(T)
	if err := json.Unmarshal(text, value); err != nil {
		panic(fmt.Errorf("reading a %s: %w", reflect.TypeFor[T]().Name(), err))
	}
	return value
}
