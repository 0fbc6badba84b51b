package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/podberth/podberth/conformance/real/held"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
)

// karpenter's go.mod names Go 1.26.9.
var karpenter = module{"sigs.k8s.io/karpenter", "v1.15.0", "go1.27.3"}

//go:embed testdata/karpenter
var karpenterFiles embed.FS

// recordedCall is one call of Karpenter's device allocator, as testdata/karpenter/allocator.go writes it.
type recordedCall struct {
	Spec     string
	Slices   []*resourcev1.ResourceSlice
	Held     []heldDevice
	Bindings bool
	Classes  classes
	Earlier  []nodeClaim // committed before
	Released bool
	Claim    nodeClaim
	Error    string
}

type nodeClaim struct {
	ID, Node     string
	Requirements []v1.NodeSelectorRequirement
	Claims       []*resourcev1.ResourceClaim
	Types        []instanceType
}

type instanceType struct {
	Name   string
	Slices []*resourcev1.ResourceSlice
	Fits   bool
	Got    []heldDevice
}

type heldDevice struct {
	Claim, Request, Driver, Pool, Device string
	Template                             bool
	Consumed                             map[resourcev1.QualifiedName]string
}

// karpenterDiffers has the specs whose answers differ, with the reason.
var karpenterDiffers = map[string]string{
	sharedCounters + "release and pessimistic max should not cross-contaminate counters between template and in-cluster pools sharing the same PoolKey": "a template has a " +
		"pool that is published too, which would be another generation of it: kube-scheduler's allocator refuses as podberth does",
	sharedCounters + "templates should handle multiple template slices for the same pool key": "two templates of a pool have a counter set of one name, which no driver may publish: " +
		"kube-scheduler's allocator refuses as podberth does",
}

const sharedCounters = "Allocator SharedCounters — "

// karpenterDevices records what the specs of Karpenter's device allocator ask it, and asks package devices the same.
func karpenterDevices(string) error {
	calls, err := recordKarpenter()
	if err != nil {
		return err
	}
	return judgeDevices(calls)
}

func recordKarpenter() (calls []recordedCall, err error) {
	return calls, karpenter.copied(func(dir string) error {
		const allocator = "pkg/scheduling/dynamicresources/"
		if err := rename(dir, allocator+"allocator.go", []string{"NewAllocator", "Allocate", "ReleaseInstanceType"}); err != nil {
			return err
		}
		if err := serveInMemory(dir, map[string]string{"allocator.go": allocator + "podberth.go"}); err != nil {
			return err
		}
		record := filepath.Join(dir, "record.jsonl")
		cmd := exec.Command("go", "test", "-vet=off", "-count=1", "./"+allocator)
		cmd.Dir, cmd.Env = dir, append(environment(), "PODBERTH_RECORD="+record)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("the specs: %w\n%s", err, out[max(0, len(out)-4000):])
		}
		file, err := os.Open(record)
		if err != nil {
			return err
		}
		defer file.Close()
		calls, err = readCalls(file)
		return err
	})
}

// serveInMemory puts an API server in memory in the place of the one that the specs of a copy start, and adds files of testdata/karpenter, by name.
func serveInMemory(dir string, files map[string]string) error {
	const test = "pkg/test/"
	if err := rename(dir, test+"environment.go", []string{"NewEnvironment", "Stop"}); err != nil {
		return err
	}
	texts := map[string]string{}
	files["environment.go"] = test + "podberth.go"
	for from, to := range files {
		text, err := karpenterFiles.ReadFile("testdata/karpenter/" + from)
		if err != nil {
			return err
		}
		texts[to] = string(text)
	}
	return add(dir, texts)
}

func readCalls(from io.Reader) (calls []recordedCall, err error) {
	for dec := json.NewDecoder(from); ; {
		var c recordedCall
		if err := dec.Decode(&c); errors.Is(err, io.EOF) {
			return calls, nil
		} else if err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
}

// judgeDevices compares the answers: whether the claims fit beside each instance type, and the devices.
func judgeDevices(calls []recordedCall) error {
	skipped, differ := map[string]int{}, map[string][]string{}
	specs := map[string]bool{}
	asked, replayed, fit, same := 0, 0, 0, 0
	for _, c := range calls {
		if why := c.unasked(); why != "" {
			skipped[why]++
			continue
		}
		specs[c.Spec] = true
		for _, t := range c.Claim.Types {
			asked++
			if len(c.Earlier) > 0 {
				replayed++
			}
			got, err := c.world(t).ask(c.Claim.Requirements)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.Spec, t.Name, err)
			}
			switch {
			case (len(got) > 0) != t.Fits:
				differ[c.Spec] = append(differ[c.Spec], fmt.Sprintf("%s: Karpenter %v %s, podberth %v", t.Name, t.Fits, c.Error, got))
			case t.Fits:
				fit++
				if slices.ContainsFunc(got, func(one []string) bool { return slices.Equal(one, deviceNames(t.Got)) }) {
					same++
				} else {
					differ[c.Spec] = append(differ[c.Spec], fmt.Sprintf("%s: Karpenter %v, podberth %v", t.Name, deviceNames(t.Got), got))
				}
			}
		}
	}
	fmt.Printf("%d calls recorded, %d questions of %d specs asked again, %d of them after commits; %d fit, %d with the same devices\n", len(calls), asked, len(specs), replayed, fit, same)
	fmt.Println("not asked:", counts(skipped))
	return explained(differ, karpenterDiffers)
}

// unasked returns why podberth has no such question.
func (c recordedCall) unasked() string {
	key := func(c *resourcev1.ResourceClaim) string { return c.Namespace + "/" + c.Name }
	switch {
	case len(c.Claim.Claims) == 0:
		return "no claim"
	case c.Bindings:
		return "attributes that are known to be equal before they are published"
	case c.Released:
		return "an instance type was released"
	case slices.ContainsFunc(c.Claim.Claims, func(c *resourcev1.ResourceClaim) bool { return c.Status.Allocation != nil }):
		return "an allocated claim: labels of the node are asked"
	case slices.ContainsFunc(c.Claim.Claims, func(c *resourcev1.ResourceClaim) bool {
		return slices.ContainsFunc(c.Spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool { return r.Exactly == nil && len(r.FirstAvailable) == 0 })
	}):
		return "a request that an API server refuses: it asks for nothing"
	}
	for _, e := range c.Earlier {
		if len(e.Types) != 1 {
			return "a commit for several instance types at once"
		}
		for _, was := range e.Claims {
			if slices.ContainsFunc(c.Claim.Claims, func(c *resourcev1.ResourceClaim) bool { return key(c) == key(was) }) {
				return "a claim that an earlier commit holds: labels of the node are asked"
			}
		}
	}
	return ""
}

// world is what the allocators are asked about: a question of Karpenter as an API server would hold it.
type world struct {
	slices  []*resourcev1.ResourceSlice
	held    []*resourcev1.ResourceClaim
	classes classes
	claims  []*resourcev1.ResourceClaim
	node    string
}

// world is the question about an instance type. What Karpenter's earlier answers took is held.
func (c recordedCall) world(t instanceType) world {
	w := world{classes: c.Classes, node: c.Claim.Node}
	if w.node == "" {
		w.node = "new-node"
	}
	w.slices = slices.Concat(c.Slices, templates(t, w.node))
	for i, claim := range c.Claim.Claims {
		w.claims = append(w.claims, admitted(claim, i))
	}
	w.hold(c.Held)
	for _, e := range c.Earlier {
		mine := e.ID == c.Claim.ID
		if mine && e.Types[0].Name != t.Name {
			continue // the node becomes one of its types
		}
		w.hold(slices.DeleteFunc(slices.Clone(e.Types[0].Got), func(d heldDevice) bool { return d.Template && !mine })) // others have their templates for themselves
	}
	return w
}

// hold adds a claim for each device.
func (w *world) hold(list []heldDevice) {
	shared := map[string]bool{}
	for _, s := range w.slices {
		for _, d := range s.Spec.Devices {
			shared[s.Spec.Driver+"/"+s.Spec.Pool.Name+"/"+d.Name] = d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
		}
	}
	for _, d := range list {
		result := resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: d.Driver, Pool: d.Pool, Device: d.Device}
		if shared[d.Driver+"/"+d.Pool+"/"+d.Device] {
			share := types.UID(fmt.Sprint("share-", len(w.held)))
			result.ShareID, result.ConsumedCapacity = &share, map[resourcev1.QualifiedName]resource.Quantity{}
			for k, v := range d.Consumed {
				result.ConsumedCapacity[k] = resource.MustParse(v)
			}
		}
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "held", Name: fmt.Sprint("c", len(w.held))}}
		claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{result}}}
		w.held = append(w.held, claim)
	}
}

// ask returns the devices that the claims get, for each choice of labels of the node that the requirements allow and that serves: Karpenter chooses
// the labels later. The error says that podberth and the allocator of kube-scheduler v1.37.2 differ.
func (w world) ask(requirements []v1.NodeSelectorRequirement) (answers [][]string, err error) {
	inventory := devices.NewInventory(w.slices)
	ledger := devices.NewLedger(inventory, w.held...)
	for labels := range choices(requirements, w.slices) {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node, Labels: labels}}
		results, ok, failed := devices.NewAllocator(ledger, w.classes.find, cel.NewCompiler(), devices.Options{}).Compile(w.claims...).Allocate(node)
		ours := w.names(results)
		theirs, err := w.askReal(node)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(ours, theirs) {
			return nil, fmt.Errorf("labels %v: kube-scheduler's allocator %v, podberth %v (%v)", labels, theirs, ours, failed)
		}
		if ok {
			answers = append(answers, ours)
		}
	}
	return answers, nil
}

// askReal returns the devices of kube-scheduler's allocator, nil when the node does not serve or the search fails.
func (w world) askReal(node *v1.Node) ([]string, error) {
	features := structured.Features{AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true}
	ctx := context.Background()
	a, err := structured.NewAllocator(ctx, features, held.State(w.held), w.classes, w.slices, dracel.NewCache(10, dracel.Features{EnableConsumableCapacity: true}))
	if err != nil {
		return nil, err
	}
	results, err := a.Allocate(ctx, node, w.claims)
	if err != nil {
		return nil, nil // as podberth's Allocate, an error refuses
	}
	return w.names(results), nil
}

func (w world) names(results []resourcev1.AllocationResult) (out []string) {
	for k, r := range results {
		for _, d := range r.Devices.Results {
			out = append(out, fmt.Sprintf("%s/%s %s %s/%s/%s", w.claims[k].Namespace, w.claims[k].Name, d.Request, d.Driver, d.Pool, d.Device))
		}
	}
	slices.Sort(out)
	return out
}

// classes finds device classes for both allocators.
type classes []*resourcev1.DeviceClass

func (l classes) List() ([]*resourcev1.DeviceClass, error) { return l, nil }

func (l classes) Get(name string) (*resourcev1.DeviceClass, error) {
	if c := l.find(name); c != nil {
		return c, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: "resource.k8s.io", Resource: "deviceclasses"}, name)
}

func (l classes) find(name string) *resourcev1.DeviceClass {
	for _, c := range l {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// templates are the slices that a node of the instance type would publish. An API server has devices and counter sets in slices of their own.
func templates(t instanceType, node string) (out []*resourcev1.ResourceSlice) {
	pools := map[string]int64{}
	for _, s := range t.Slices {
		s = s.DeepCopy()
		s.Spec.NodeName, s.Spec.Pool.Generation = &node, 0
		if len(s.Spec.SharedCounters) > 0 && len(s.Spec.Devices) > 0 {
			counters := s.DeepCopy()
			counters.Name += "-counters"
			counters.Spec.Devices, s.Spec.SharedCounters = nil, nil
			out = append(out, counters)
			pools[s.Spec.Driver+"/"+s.Spec.Pool.Name]++
		}
		out = append(out, s)
		pools[s.Spec.Driver+"/"+s.Spec.Pool.Name]++
	}
	for _, s := range out {
		s.Spec.Pool.ResourceSliceCount = pools[s.Spec.Driver+"/"+s.Spec.Pool.Name]
	}
	return out
}

// admitted is a claim as an API server stores it: with the defaults of its requests.
func admitted(claim *resourcev1.ResourceClaim, i int) *resourcev1.ResourceClaim {
	out := claim.DeepCopy()
	out.UID = types.UID(fmt.Sprint("claim-", i))
	set := func(mode *resourcev1.DeviceAllocationMode, count *int64) {
		if *mode == "" {
			*mode = resourcev1.DeviceAllocationModeExactCount
		}
		if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
			*count = 1
		}
	}
	for k := range out.Spec.Devices.Requests {
		r := &out.Spec.Devices.Requests[k]
		if r.Exactly != nil {
			set(&r.Exactly.AllocationMode, &r.Exactly.Count)
		}
		for j := range r.FirstAvailable {
			set(&r.FirstAvailable[j].AllocationMode, &r.FirstAvailable[j].Count)
		}
	}
	return out
}

// choices yields labels that meet the requirements: each value of In, for Exists each value that a slice names, and no label for other operators.
func choices(requirements []v1.NodeSelectorRequirement, list []*resourcev1.ResourceSlice) func(func(map[string]string) bool) {
	return func(yield func(map[string]string) bool) {
		var walk func(i int, labels map[string]string) bool
		walk = func(i int, labels map[string]string) bool {
			if i == len(requirements) {
				return yield(maps.Clone(labels))
			}
			r := requirements[i]
			values := r.Values
			switch r.Operator {
			case v1.NodeSelectorOpIn:
			case v1.NodeSelectorOpExists:
				values = named(r.Key, list)
			default:
				return walk(i+1, labels)
			}
			for _, value := range values {
				labels[r.Key] = value
				if !walk(i+1, labels) {
					return false
				}
			}
			delete(labels, r.Key)
			return true
		}
		walk(0, map[string]string{})
	}
}

// named returns the values of a label that slices ask for.
func named(key string, list []*resourcev1.ResourceSlice) (values []string) {
	for _, s := range list {
		if s.Spec.NodeSelector == nil {
			continue
		}
		for _, term := range s.Spec.NodeSelector.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				if e.Key == key && e.Operator == v1.NodeSelectorOpIn {
					values = append(values, e.Values...)
				}
			}
		}
	}
	return append(values, "another")
}

func deviceNames(list []heldDevice) (out []string) {
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s %s %s/%s/%s", d.Claim, d.Request, d.Driver, d.Pool, d.Device))
	}
	slices.Sort(out)
	return out
}
