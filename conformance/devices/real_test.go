package devices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/podberth/podberth/conformance/real/held"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
)

// features are those of kube-scheduler with default gates.
var (
	features    = structured.Features{AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true}
	expressionC = dracel.NewCache(1000, dracel.Features{EnableConsumableCapacity: true})
)

type classList []*resourcev1.DeviceClass

func (l classList) List() ([]*resourcev1.DeviceClass, error) { return l, nil }

func (l classList) Get(name string) (*resourcev1.DeviceClass, error) {
	if c := l.find(name); c != nil {
		return c, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: "resource.k8s.io", Resource: "deviceclasses"}, name)
}

func (l classList) find(name string) *resourcev1.DeviceClass {
	for _, c := range l {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// steps bounds the search of a case on this side, and endless the search of kube-scheduler on one node, which does not look ahead. Cases that
// need more on either side are left out.
const (
	steps   = 20_000
	endless = 2 * time.Second
)

// answers is what one side says about each node.
type answers []answer

type answer struct {
	results []resourcev1.AllocationResult
	ok      bool
	err     error
}

func theirsOf(w *world) (answers, error) {
	ctx, cancel := context.WithTimeout(context.Background(), endless)
	defer cancel()
	a, err := structured.NewAllocator(ctx, features, held.State(w.running), classList(w.classes), w.slices, expressionC)
	if err != nil {
		return nil, err
	}
	var out answers
	for _, n := range w.nodes {
		r, err := a.Allocate(ctx, n, w.claims)
		out = append(out, answer{r, r != nil && err == nil, err})
	}
	return out, nil
}

// slow reports whether a search of one of the nodes was cut.
func (a answers) slow() bool {
	return slices.ContainsFunc(a, func(x answer) bool {
		return errors.Is(x.err, devices.ErrSteps) || errors.Is(x.err, context.DeadlineExceeded)
	})
}

// cut reports whether a text says that the search of one of the sides was cut.
func cut(text string) bool {
	return strings.Contains(text, devices.ErrSteps.Error()) || strings.Contains(text, devices.ErrStopped.Error())
}

// compiler is package devices' for all cases, as expressionC is kube-scheduler's.
var compiler = cel.NewCompiler()

func oursOf(w *world) answers {
	ledger := devices.NewLedger(devices.NewInventory(w.slices), w.running...)
	search := devices.NewAllocator(ledger, classList(w.classes).find, compiler, devices.Options{Steps: steps, Release: trial.Linked}).Compile(w.claims...)
	var out answers
	for _, n := range w.nodes {
		r, ok, err := search.Allocate(n)
		out = append(out, answer{r, ok, err})
	}
	return out
}

func (a answer) String() string {
	if a.err != nil {
		return "error: " + a.err.Error()
	}
	if !a.ok {
		return "none"
	}
	out := ""
	for _, r := range a.results {
		for _, d := range r.Devices.Results {
			out += fmt.Sprintf("%s=%s/%s/%s", d.Request, d.Driver, d.Pool, d.Device)
			if d.AdminAccess != nil {
				out += fmt.Sprintf(" admin %v", *d.AdminAccess)
			}
			if d.ShareID != nil {
				out += " share"
			}
			if d.ConsumedCapacity != nil {
				out += " consumes"
				for _, name := range []resourcev1.QualifiedName{"mem", "bw"} {
					if q, ok := d.ConsumedCapacity[name]; ok {
						out += fmt.Sprintf(" %s %s", name, q.String())
					}
				}
			}
			out += fmt.Sprintf(" %v %v %v\n", d.Tolerations, d.BindingConditions, d.BindingFailureConditions)
		}
		for _, c := range r.Devices.Config {
			out += fmt.Sprintf("config %s %v %s\n", c.Source, c.Requests, c.Opaque.Driver)
		}
		out += "on " + selectorText(r.NodeSelector) + "\n"
	}
	return out
}

func selectorText(s *v1.NodeSelector) string {
	if s == nil {
		return "all nodes"
	}
	return fmt.Sprint(s.NodeSelectorTerms)
}
